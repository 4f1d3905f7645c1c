// Asks the worker for what the state shows and isn't there yet, and keeps what it answers.

import {askStoryteller} from "../lib/ask-storyteller.js";
import {answers, isStudy, questionOf} from "./reading.js";
import {needs} from "./model.js";
import {seekingOf, take} from "./seeking.js";
import {goOn} from "./writing.js";

const [KEPT, TOKENS, STUDIES] = [8, 600, 12]; // readings that are kept, the tokens of all together, and studies

export function startAsking(widget) {
  const {session} = widget.data;
  const onChange = () => {
    session.failed = session.asking.problem ? session.asked : "";
    widget.refresh(true);
  };
  session.asking = askStoryteller(
    {size: 1, script: "../explorer/worker.js"},
    {onChange, onAnswer: (reading) => hear(widget, reading)},
  );
  const warm = () => {
    session.failed = ""; // a reader's act asks again for what couldn't be fetched
    if (!session.isWarm)
      session.asking.ask({...questionOf(widget.data, widget.state), text: undefined});
    session.isWarm = true;
  };
  for (const touch of ["pointerdown", "keydown"]) widget.listen(widget.root, touch, warm);
}

/** Asks for what the state shows and isn't there yet, once. */
export function follow(widget) {
  const {data, state} = widget;
  const {session} = data;
  const wanted = [
    questionOf(data, state),
    ...(state.pin === null ? [] : [questionOf(data, state, state.pin)]),
  ];
  const isThere = (question) =>
    question.study ? session.studies.some((one) => isStudy(one, question)) : isRead(question);
  const isRead = (question) =>
    session.readings.some((reading) => answers(reading, question)) ||
    (answers(data.opening, question) && !needs(data.opening, state, session));
  const isNew = (question) => !isThere(question) && JSON.stringify(question) !== session.failed;
  const next = wanted.find(isNew) ?? studiesOf(widget).find(isNew);
  if (next && session.asking.ask(next)) session.asked = JSON.stringify(next);
  if (!next && session.left) goOn(widget);
}

/** What is asked beside the reading: the head that a guess needs most, once that is sought, and what the chosen head pushes. */
function studiesOf({data: {session}, model: m}) {
  if (!m.isRead || m.isWriting) return [];
  const question = {...m.question, at: m.at};
  const [needed, pushed] = [
    {...question, off: [], study: "needed"},
    {...question, study: "pushed"},
  ];
  return [
    ...(session.sought === seekingOf(needed) ? [needed] : []),
    ...(m.tellsTops ? [pushed] : []),
  ];
}

/** Keeps the last readings, so that a pinned text and Back cost nothing. */
function hear(widget, reading) {
  const {
    data: {session},
  } = widget;
  if (!reading) return;
  if (reading.study) {
    session.studies = [reading, ...session.studies].slice(0, STUDIES);
    if (reading.study === "needed") take(widget, reading);
    return;
  }
  const {matrices, ...rest} = reading;
  if (matrices) session.parts[reading.model] = matrices;
  let tokens = 0;
  session.readings = [rest, ...session.readings]
    .slice(0, KEPT)
    .filter(({pieces}, i) => (tokens += pieces.length) <= TOKENS || i < 2);
}
