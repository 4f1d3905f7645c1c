// Links in a page's text that set a widget: [in words](?key.name=value#id){.set-up}. Without a script
// they load the page anew with the same state.

import {html, nothing} from "../../assets/vendor/lit.js";

const wayBack = new WeakMap(); // from a widget's root to the link that was pressed

/**
 * Hears presses of `a.set-up` that lead to this widget. `onPress(state)` gets its fields, which stand
 * in the link's address as "key.name"; those that don't are at their defaults.
 */
export function setUpLinks({fields, listen, root}, key, onPress) {
  listen(document, "click", (event) => {
    const link = event.target.closest?.("a.set-up");
    const isElsewhere =
      event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // a new tab or window
    if (!link || isElsewhere || link.hash !== `#${root.closest(".widget")?.id}`) return;
    event.preventDefault();
    const query = new URLSearchParams(link.search);
    const value = (name) =>
      fields[name].parse(query.get(`${key}.${name}`) ?? "") ?? fields[name].value;
    wayBack.set(root, link);
    onPress(Object.fromEntries(Object.keys(fields).map((name) => [name, value(name)])));
  });
}

/** Sets the widget as a link says, and brings it into view. */
export function followSetUps(widget, key) {
  setUpLinks(widget, key, (state) => {
    widget.set(state);
    widget.root.closest(".widget").scrollIntoView();
    widget.root.querySelector("select, input").focus({preventScroll: true});
  });
}

/** "Back to the text", once a link has led here. */
export function backToText({root, draw}) {
  const link = wayBack.get(root);
  const back = (event) => {
    event.preventDefault();
    wayBack.delete(root);
    link.scrollIntoView({block: "center"});
    link.focus({preventScroll: true});
    draw();
  };
  return link?.isConnected
    ? html`<a class="back" href="#${link.closest("section[id]")?.id}" @click=${back}>Back to the text</a>`
    : nothing;
}
