// A model's weights, fetched from where the site publishes them.

import {transformer} from "./transformer.js";

const models = new Map();

/**
 * A promise of the model in a weights file, such as "models/grammar/weights/masked.safetensors".
 * Each is fetched once; after a failure, asking again tries again. Rejects with an Error to show.
 * `onBytes`, where given, hears how many bytes have arrived.
 */
export function loadModel(path, onBytes) {
  if (!models.has(path)) {
    models.set(path, fetchModel(path, onBytes));
    models.get(path).catch(() => models.delete(path));
  }
  return models.get(path);
}

async function fetchModel(path, onBytes) {
  // Counted from this file, so it holds on every page and wherever the site stands.
  const response = await fetch(new URL(`../../${path}`, import.meta.url)).catch(() => {
    throw new Error(`${path} can't be fetched: this page needs a connection to its site`);
  });
  if (!response.ok)
    throw new Error(`${path} can't be fetched: the site answers ${response.status}`);
  const arrived =
    onBytes && response.body ? inParts(response.body.getReader(), onBytes) : response.arrayBuffer();
  const buffer = await arrived.catch((error) => {
    if (error instanceof RangeError) throw error; // no memory for it
    throw new Error(`${path} can't be fetched: the connection broke off`);
  });
  return transformer(buffer, path);
}

async function inParts(reader, onBytes) {
  const parts = [];
  let bytes = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    onBytes((bytes += part.value.length));
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.buffer;
}
