// The explorer's models in a worker of its own, so that neither loading nor reading holds up the page.
// Asked {question}, it posts {reading}, or {problem} in words; before, {bytes}, the share that arrived.

import {loadModel} from "../lib/load-model.js";
import {explorerReader, matricesOf} from "./reader.js";

const MEMORY = "this device has too little memory for it";
const readers = new Map(); // by file

globalThis.onmessage = async ({data: {question}}) => {
  const {file, kind, size} = question;
  try {
    if (!readers.has(file)) {
      const model = await loadModel(file, (bytes) => postMessage({bytes: bytes / size}));
      readers.set(file, {
        read: explorerReader(checked(model, question), kind),
        matrices: matricesOf(model),
      });
    }
  } catch (error) {
    return postMessage({problem: `The model could not be loaded: ${told(error)}.`});
  }
  try {
    const reader = readers.get(file);
    const reading =
      question.text === undefined
        ? undefined
        : {
            ...reader.read(question),
            model: question.model,
            ...(!question.study && {matrices: reader.matrices}),
          };
    postMessage({reading}, buffersOf(reading)); // handed over: copies would wait for the garbage collector
    if (reading && !question.study) reader.matrices = null; // they are told once
  } catch (error) {
    postMessage({problem: told(error)});
  }
};

/** The model, if it is the one that was asked for. */
function checked(model, {file, words, heads}) {
  const {vocabulary, num_heads: counts} = model.config;
  if (vocabulary.length !== words || String(counts) !== String(heads))
    throw new Error(`${file} holds another model`);
  return model;
}

/** The memory of all numbers in a reading. */
const buffersOf = (part) =>
  ArrayBuffer.isView(part)
    ? [part.buffer]
    : Object.values(part ?? {})
        .filter((inner) => typeof inner === "object")
        .flatMap(buffersOf);

const told = (error) => (error instanceof RangeError ? MEMORY : error.message);
