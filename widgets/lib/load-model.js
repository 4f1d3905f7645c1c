// A model's weights, fetched from where the site publishes them.

import {transformer} from "./transformer.js";

const models = new Map();

/**
 * A promise of the model in a weights file, such as "models/grammar/weights/masked.safetensors".
 * Each is fetched once; after a failure, asking again tries again. Rejects with an Error to show.
 */
export function loadModel(path) {
  if (!models.has(path)) {
    models.set(path, fetchModel(path));
    models.get(path).catch(() => models.delete(path));
  }
  return models.get(path);
}

async function fetchModel(path) {
  // Counted from this file, so it holds on every page and wherever the site stands.
  const response = await fetch(new URL(`../../${path}`, import.meta.url)).catch(() => {
    throw new Error(`${path} can't be fetched: this page needs a connection to its site`);
  });
  if (!response.ok) throw new Error(`${path} can't be fetched: the site answers ${response.status}`);
  return transformer(await response.arrayBuffer(), path);
}
