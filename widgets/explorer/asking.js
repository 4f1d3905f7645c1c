// Asks the worker for what the state shows and isn't there yet, and keeps what it answers.

import {askStoryteller} from "../lib/ask-storyteller.js";
import {answers, questionOf} from "./look.js";
import {needs} from "./model.js";
import {goOn} from "./writing.js";

const [KEPT, TOKENS] = [8, 600]; // readings that are kept, and the tokens of all together

export function startAsking(widget) {
  const {bench} = widget.data;
  const onChange = () => {
    bench.failed = bench.asking.problem ? bench.asked : "";
    widget.refresh(true);
  };
  bench.asking = askStoryteller({size: 1, script: "../explorer/worker.js"}, {onChange, onAnswer: (reading) => hear(widget, reading)});
  const warm = () => {
    bench.failed = ""; // a reader's act asks again for what couldn't be fetched
    if (!bench.isWarm) bench.asking.ask({...questionOf(widget.data, widget.state), text: undefined});
    bench.isWarm = true;
  };
  for (const touch of ["pointerdown", "keydown"]) widget.listen(widget.root, touch, warm);
}

/** Asks for what the state shows and isn't there yet, once. */
export function follow(widget) {
  const {data, state} = widget;
  const {bench} = data;
  const wanted = [questionOf(data, state), ...(state.pin === null ? [] : [questionOf(data, state, state.pin)])];
  const isThere = (question) => bench.readings.some((reading) => answers(reading, question))
    || (answers(data.opening, question) && !needs(data.opening, state, bench));
  const next = wanted.find((question) => !isThere(question) && JSON.stringify(question) !== bench.failed);
  if (next && bench.asking.ask(next)) bench.asked = JSON.stringify(next);
  if (!next && bench.left) goOn(widget);
}

/** Keeps the last readings, so that a pinned text and Back cost nothing. */
function hear({data: {bench}}, reading) {
  if (!reading) return;
  const {matrices, ...rest} = reading;
  if (matrices) bench.parts[reading.model] = matrices;
  let tokens = 0;
  bench.readings = [rest, ...bench.readings].slice(0, KEPT).filter(({pieces}, i) => (tokens += pieces.length) <= TOKENS || i < 2);
}
