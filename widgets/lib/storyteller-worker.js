// The storyteller in a worker of its own, so that neither loading nor reading holds up the page.
// Asked {file, question}, it posts {reading}, or {problem} in words; before, {bytes} that arrived.
// A question is one of lib/storyteller-reader.js, or {decode}, one of lib/decoding.js.

import {decoder} from "./decoding.js";
import {reader} from "./storyteller-reader.js";
import {loadStoryteller} from "./storyteller.js";

const MEMORY = "this device has too little memory for it";
let answer = null;

globalThis.onmessage = async ({data: {file, question}}) => {
  try {
    answer = answer ?? answering(await loadStoryteller(file, (bytes) => postMessage({bytes})));
  } catch (error) {
    return postMessage({problem: `The model could not be loaded: ${inWords(error)}.`});
  }
  try {
    postMessage({reading: question && answer(question)});
  } catch (error) {
    postMessage({problem: inWords(error)});
  }
};

function answering(story) {
  const [read, decode] = [reader(story), decoder(story)];
  return (question) => (question.decode ? decode(question.decode) : read(question));
}

const inWords = (error) => (error instanceof RangeError ? MEMORY : error.message);
