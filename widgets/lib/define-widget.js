// A widget is one element that behaves as an Observable input: `viewof mask = maskBuilder(data)`.
// Its module declares what differs from widget to widget; everything else is here.

import {html, render} from "../../assets/vendor/lit.js";
import {addressState} from "./address.js";
import {meetGoals} from "./goals.js";
import {numberHint} from "./number-field.js";
import {watchHeight} from "./stage-height.js";
import {offerSaving} from "./save-menu.js";
import {whenShown} from "./when-shown.js";

/**
 * A function (data, followed) → element with `.value` and "input" events.
 *
 * name        class of the element; its style is widgets/NAME.css
 * label       name of the group, for screen readers
 * key         prefix of the fields in the address; the name, where there is none
 * fields      (data) → {name: field} of lib/fields.js; a widget without fields shows, and changes,
 *             the state of the widget it follows
 * controls    (widget) → rows of controls of lib/controls.js; `controlsBelow: true` puts them last
 * model       (data, state, followed's value) → numbers as plain objects: no DOM
 * sentence    (model, widget) → the same in words
 * view        (model, widget) → a template of lit-html
 * pictures    {name: (widget) → {file, svg}}: parts that can be saved alone, as the text of an SVG
 * saving      {name, isAbove} of lib/save-menu.js, where its menu is called otherwise, or stands above
 * challenges  {name: (model, state) → whether the goal is met}
 * started, drawn   (widget) → run once, when it starts, and after each drawing
 *
 * `followed` is another widget's element; this one is drawn again at its every change.
 * Their `widget` is {data, state, model, fields, followed, root, set, reset, refresh, listen, draw, sentence}.
 */
export function defineWidget(definition) {
  return (data, followed) => start(definition, data, followed);
}

function start(definition, data, followed) {
  const {name, label, key = name, model, challenges = {}} = definition;
  const root = document.createElement("div");
  root.className = `${name} widget-live`;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", label);
  const [controls, place, stage] = ["widget-controls", "widget-place", "widget-stage"].map(div);
  place.append(stage);
  root.append(...(definition.controlsBelow ? [place, controls] : [controls, place]));
  watchHeight(stage);

  const listen = listener(root);
  const fields = definition.fields?.(data) ?? followed.fields;
  const own = definition.fields && addressState(key, fields, {onBack, listen});
  let current;

  const widget = {
    data,
    fields,
    followed,
    root,
    listen,
    draw,
    id: `${key}-${(count += 1)}`,
    typing: null, // the number being typed, of lib/number-field.js
    get state() {
      return own ? own.value : followed.state;
    },
    get model() {
      return current;
    },
    /** Changes fields: {name: value}. */
    set(changes, options) {
      if (!own) return followed.set(changes, options);
      own.set(changes, options);
      update(true);
    },
    reset() {
      widget.typing = null;
      widget.set(own.defaults);
    },
    /** Computes and draws again, as when something has been fetched; `byReader`: as if a reader had changed it. */
    refresh: (byReader = false) => update(byReader),
    /** The model in words, told at every change; `hidden` from view where the drawing says it too. */
    sentence: ({hidden = false} = {}) =>
      html`<p class=${hidden ? "sentence screen-reader-only" : "sentence"} aria-live="polite" aria-atomic="true">${definition.sentence(current, widget)}</p>`,
  };

  function compute() {
    current = model(data, widget.state, followed?.value);
  }
  function onBack() {
    widget.typing = null; // what was being typed belongs to the state that was left
    update();
  }
  let drawn = {}; // what the controls show
  function draw() {
    const {state, typing} = widget;
    if (definition.controls && (state !== drawn.state || typing !== drawn.typing)) {
      render([...rows(definition.controls(widget), widget), numberHint(widget)], controls);
      drawn = {state, typing};
    }
    render(definition.view(current, widget), stage);
    definition.drawn?.(widget);
  }
  function update(byReader = false) {
    compute();
    whenShown(root, draw);
    if (byReader) meetGoals(root, challenges, current, widget.state);
    root.dispatchEvent(new CustomEvent("input", {bubbles: true, detail: byReader}));
  }

  // The controls' own events end here: who follows this widget hears of its new value alone.
  for (const part of [controls, stage])
    part.addEventListener("input", (event) => event.stopPropagation());
  if (followed) listen(followed, "input", ({detail}) => update(detail));
  compute();
  definition.started?.(widget);
  whenShown(root, draw);
  const pictures = Object.entries(definition.pictures ?? {}).map(([part, drawn]) => [
    part,
    () => drawn(widget),
  ]);
  requestAnimationFrame(() =>
    offerSaving(root, label, Object.fromEntries(pictures), definition.saving),
  ); // by then it has its place
  return Object.defineProperties(root, {
    value: {get: () => current},
    state: {get: () => widget.state},
    fields: {value: fields},
    set: {value: widget.set},
  });
}

let count = 0;

const div = (className) => Object.assign(document.createElement("div"), {className});

const rows = (controls, widget) =>
  controls.map((row) => html`<div class="controls">${row.map((control) => control(widget))}</div>`);

/** Listens until `root`, once shown, has left the page. */
function listener(root) {
  const listening = new AbortController();
  let wasConnected = false;
  return (target, type, handler, options) =>
    target.addEventListener(
      type,
      (event) => {
        if (wasConnected && !root.isConnected) return listening.abort();
        wasConnected = root.isConnected;
        handler(event);
      },
      {...options, signal: listening.signal},
    );
}
