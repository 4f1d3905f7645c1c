// A safetensors file: the length of a JSON header, the header, then the numbers of every tensor.

const READERS = {
  I8: {size: 1, read: (view, at) => view.getInt8(at)},
  F16: {size: 2, read: (view, at) => half(view.getUint16(at, true))},
  F32: {size: 4, read: (view, at) => view.getFloat32(at, true)},
};

/**
 * The tensors of an ArrayBuffer: {metadata: {key: text}, tensors: {name: {shape, data: Float64Array}}}.
 * Throws an Error that calls the file `name` where it is cut, or something else.
 */
export function parseSafetensors(buffer, name = "this file") {
  const fail = (why) => {
    throw new Error(`${name} is cut, or not a safetensors file: ${why}`);
  };
  if (buffer.byteLength < 8) fail(`it has ${buffer.byteLength} bytes`);
  const view = new DataView(buffer);
  const start = 8 + view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (start > buffer.byteLength)
    fail(`its header would end at byte ${start} of ${buffer.byteLength}`);
  const header = readJson(buffer.slice(8, start)) ?? fail("its header is no JSON");

  const tensors = {};
  for (const [key, entry] of Object.entries(header)) {
    if (key === "__metadata__") continue;
    const {dtype, shape, data_offsets: [from, to] = []} = entry;
    const reader =
      READERS[dtype] ?? fail(`${key} is ${dtype}, not ${Object.keys(READERS).join(" or ")}`);
    const count = shape.reduce((a, b) => a * b, 1);
    if (to - from !== count * reader.size)
      fail(`${key} has ${to - from} bytes for the shape ${shape}`);
    if (start + to > buffer.byteLength)
      fail(`${key} would end at byte ${start + to} of ${buffer.byteLength}`);
    const data = new Float64Array(count);
    for (let i = 0; i < count; i += 1) data[i] = reader.read(view, start + from + i * reader.size);
    if (!data.every(Number.isFinite)) fail(`${key} has a number that isn't finite`);
    tensors[key] = {shape, data};
  }
  return {metadata: header.__metadata__ ?? {}, tensors};
}

function readJson(bytes) {
  try {
    const text = Array.from(
      new Uint8Array(bytes),
      (byte) => `%${byte.toString(16).padStart(2, "0")}`,
    ).join("");
    return JSON.parse(decodeURIComponent(text)); // UTF-8, also where there is no TextDecoder
  } catch {
    return undefined;
  }
}

function half(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * (1 + fraction) * 2 ** (exponent - 15) : sign * fraction * 2 ** -14;
}
