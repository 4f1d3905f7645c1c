// The page's links "Try it", which set the playground up, start the training, and lead back to the text.

import {html, nothing} from "../../assets/vendor/lit.js";
import {cameTo, play} from "./bench.js";
import {TASKS} from "./tasks.js";

/** Hears presses of `a.set-up` that lead to this widget, with its fields as "key.name" in their address. */
export function setUps(widget, key) {
  const {data: {bench}, fields, listen, root} = widget;
  listen(document, "click", (event) => {
    const link = event.target.closest?.("a.set-up");
    const isElsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // a new tab or window
    if (!link || isElsewhere || link.hash !== `#${root.closest(".widget")?.id}`) return;
    event.preventDefault();
    const query = new URLSearchParams(link.search);
    const value = (name) => fields[name].parse(query.get(`${key}.${name}`) ?? "") ?? fields[name].value;
    bench.cameFrom = link;
    train(widget, {...Object.fromEntries(Object.keys(fields).map((name) => [name, value(name)])), pace: widget.state.pace});
    root.querySelector(".training").scrollIntoView();
    root.querySelector(".train").focus({preventScroll: true});
  });
}

/** Trains what `state` says as far as its task's steps; a training that came so far before is shown. */
function train(widget, state) {
  const {steps} = TASKS[state.task];
  const last = cameTo(widget.data.bench, state);
  widget.set({...state, step: Math.min(last, steps)});
  if (last < steps) play(widget, steps - last);
}

/** Back to the link that was pressed. */
export function backLink({data: {bench}, draw}) {
  const link = bench.cameFrom;
  const back = (event) => {
    event.preventDefault();
    bench.cameFrom = null;
    link.scrollIntoView({block: "center"});
    link.focus({preventScroll: true});
    draw();
  };
  return link?.isConnected ? html`<a class="back" href="#${link.closest("section[id]")?.id}" @click=${back}>Back to the question</a>` : nothing;
}
