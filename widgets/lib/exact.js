// Functions whose last bit is the same in every browser. Math.exp, log, sin and cos are not: each
// engine may round them in its own way, and a training that differs in one bit soon differs in all.
// Sums, products, quotients and square roots are rounded alike everywhere (IEEE 754).

const LN2_HIGH = 6.9314718036912381649e-1; // ln 2 in two parts, so that k ln 2 keeps its last bits
const LN2_LOW = 1.90821492927058770002e-10;
const [LEAST, MOST] = [-744, 709]; // beyond them it is 0, or more than a number holds

// Powers of two from 2^-1074 to 2^1023, by halving and doubling, which is exact.
const POWERS = new Float64Array(2098);
POWERS[1074] = 1;
for (let k = 1; k <= 1023; k += 1) POWERS[1074 + k] = 2 * POWERS[1073 + k];
for (let k = 1; k <= 1074; k += 1) POWERS[1074 - k] = POWERS[1075 - k] / 2;

/** e^x to 14 digits. */
export function exp(x) {
  if (!(x > LEAST)) return x <= LEAST ? 0 : NaN;
  if (x > MOST) return Infinity;
  const k = Math.floor(x / LN2_HIGH + 0.5);
  const r = x - k * LN2_HIGH - k * LN2_LOW; // at most ln 2 / 2
  const s = r * r;
  const low = 1 + r + s * (1 / 2 + r / 6) + s * s * (1 / 24 + r / 120);
  const high =
    1 / 720 + r / 5040 + s * (1 / 40320 + r / 362880) + s * s * (1 / 3628800 + r / 39916800);
  return (low + s * s * s * high) * POWERS[1074 + k];
}

const bits = new DataView(new ArrayBuffer(8));

/** ln x of a normal positive number, to 14 digits. */
export function log(x) {
  bits.setFloat64(0, x);
  let k = (bits.getUint32(0) >>> 20) - 1023;
  let m = x / POWERS[1074 + k]; // from 1 to 2
  if (m > Math.SQRT2) {
    m /= 2;
    k += 1;
  }
  const t = (m - 1) / (m + 1);
  const s = t * t;
  let series = 0;
  for (let n = 21; n >= 1; n -= 2) series = series * s + 1 / n;
  return k * LN2_HIGH + (k * LN2_LOW + 2 * t * series);
}

const turns = new Map(); // tables of cosines and sines, by the size of a head

/**
 * The angles of rotary positions: {cos, sin} at `position`, an entry for each pair of a head of `size` numbers.
 * Each position turns the one before by the same angle, so that a few small sines are all it takes.
 */
export function rotation(position, size) {
  if (!turns.has(size)) turns.set(size, [still(size), firstTurn(size)]);
  const table = turns.get(size);
  while (table.length <= position) table.push(together(table[table.length - 1], table[1]));
  return table[position];
}

const still = (size) => ({
  cos: new Float64Array(size / 2).fill(1),
  sin: new Float64Array(size / 2),
});

function firstTurn(size) {
  const turn = still(size);
  for (let i = 0; i < size / 2; i += 1) {
    const angle = exp(((-2 * i) / size) * 9.210340371976184); // ln 10000
    const square = angle * angle;
    for (let n = 20; n >= 2; n -= 2) turn.cos[i] = 1 - (turn.cos[i] * square) / (n * (n - 1));
    let sine = 1;
    for (let n = 21; n >= 3; n -= 2) sine = 1 - (sine * square) / (n * (n - 1));
    turn.sin[i] = angle * sine;
  }
  return turn;
}

const together = (a, b) => ({
  cos: a.cos.map((cos, i) => cos * b.cos[i] - a.sin[i] * b.sin[i]),
  sin: a.sin.map((sin, i) => sin * b.cos[i] + a.cos[i] * b.sin[i]),
});

/** Chance from a seed (mulberry32): {uniform(), below(n), normal(), shuffled(list)}. */
export function chanceOf(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  let spare = null;
  function uniform() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const below = (n) => Math.floor(uniform() * n);
  /** Marsaglia's polar method: two at a time. */
  function normal() {
    if (spare !== null) {
      const second = spare;
      spare = null;
      return second;
    }
    for (;;) {
      const [a, b] = [2 * uniform() - 1, 2 * uniform() - 1];
      const square = a * a + b * b;
      if (square >= 1 || square === 0) continue;
      const scale = Math.sqrt((-2 * log(square)) / square);
      spare = b * scale;
      return a * scale;
    }
  }
  function shuffled(list) {
    const mixed = [...list];
    for (let i = mixed.length - 1; i > 0; i -= 1) {
      const j = below(i + 1);
      [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
    }
    return mixed;
  }
  return {uniform, below, normal, shuffled};
}
