// The page's links "Try it", which set the playground up, start the training, and lead back to the text.

import {html, nothing} from "../../assets/vendor/lit.js";
import {setUpLinks} from "../lib/set-up-links.js";
import {cameTo, play} from "./bench.js";
import {TASKS} from "./tasks.js";

/** Hears presses of `a.set-up` that lead to this widget, with its fields as "key.name" in their address. */
export function setUps(widget, key) {
  const {data: {bench}, root} = widget;
  setUpLinks(widget, key, (link, state) => {
    bench.cameFrom = link;
    train(widget, {...state, pace: widget.state.pace});
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
