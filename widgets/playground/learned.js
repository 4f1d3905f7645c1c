// When a training counts as having learned its task.

export const ENOUGH = 0.95; // of the answers right
const MEAN = 10; // steps

/** The mean of the last ten numbers up to `step`. */
export function meanAt(numbers, step) {
  const some = numbers.slice(Math.max(0, step - MEAN), step);
  return some.reduce((a, b) => a + b, 0) / some.length;
}

const searched = new WeakMap(); // of a list that grows: as far as `step` the mean isn't enough

/** The first step at which the mean of ten is enough, or null. */
export function learnedAt(shares) {
  let step = searched.get(shares) ?? MEAN;
  while (step <= shares.length && !(meanAt(shares, step) >= ENOUGH)) step += 1;
  searched.set(shares, step);
  return step <= shares.length ? step : null;
}
