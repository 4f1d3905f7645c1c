// Asks the worker for what the state shows and isn't there yet, and keeps what it answers.

import {askStoryteller} from "../lib/ask-storyteller.js";
import {answers, isStudy, questionOf} from "./look.js";
import {needs} from "./model.js";
import {seekingOf, take} from "./seeking.js";
import {goOn} from "./writing.js";

const [KEPT, TOKENS, STUDIES] = [8, 600, 12]; // readings that are kept, the tokens of all together, and studies

export function startAsking(widget) {
  const {bench} = widget.data;
  const onChange = () => {
    bench.failed = bench.asking.problem ? bench.asked : "";
    widget.refresh(true);
  };
  bench.asking = askStoryteller(
    {size: 1, script: "../explorer/worker.js"},
    {onChange, onAnswer: (reading) => hear(widget, reading)},
  );
  const warm = () => {
    bench.failed = ""; // a reader's act asks again for what couldn't be fetched
    if (!bench.isWarm)
      bench.asking.ask({...questionOf(widget.data, widget.state), text: undefined});
    bench.isWarm = true;
  };
  for (const touch of ["pointerdown", "keydown"]) widget.listen(widget.root, touch, warm);
}

/** Asks for what the state shows and isn't there yet, once. */
export function follow(widget) {
  const {data, state} = widget;
  const {bench} = data;
  const wanted = [
    questionOf(data, state),
    ...(state.pin === null ? [] : [questionOf(data, state, state.pin)]),
  ];
  const isThere = (question) =>
    question.study ? bench.studies.some((one) => isStudy(one, question)) : isRead(question);
  const isRead = (question) =>
    bench.readings.some((reading) => answers(reading, question)) ||
    (answers(data.opening, question) && !needs(data.opening, state, bench));
  const isNew = (question) => !isThere(question) && JSON.stringify(question) !== bench.failed;
  const next = wanted.find(isNew) ?? studiesOf(widget).find(isNew);
  if (next && bench.asking.ask(next)) bench.asked = JSON.stringify(next);
  if (!next && bench.left) goOn(widget);
}

/** What is asked beside the reading: the head that a guess needs most, once that is sought, and what the chosen head pushes. */
function studiesOf({data: {bench}, model: m}) {
  if (!m.isRead || m.isWriting) return [];
  const question = {...m.question, at: m.at};
  const [needed, pushed] = [
    {...question, off: [], study: "needed"},
    {...question, study: "pushed"},
  ];
  return [
    ...(bench.sought === seekingOf(needed) ? [needed] : []),
    ...(m.tellsTops ? [pushed] : []),
  ];
}

/** Keeps the last readings, so that a pinned text and Back cost nothing. */
function hear(widget, reading) {
  const {
    data: {bench},
  } = widget;
  if (!reading) return;
  if (reading.study) {
    bench.studies = [reading, ...bench.studies].slice(0, STUDIES);
    if (reading.study === "needed") take(widget, reading);
    return;
  }
  const {matrices, ...rest} = reading;
  if (matrices) bench.parts[reading.model] = matrices;
  let tokens = 0;
  bench.readings = [rest, ...bench.readings]
    .slice(0, KEPT)
    .filter(({pieces}, i) => (tokens += pieces.length) <= TOKENS || i < 2);
}
