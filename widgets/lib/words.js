// Words of which one is chosen: a group of radio buttons with one tab stop.

import {setText} from "./dom.js";

const MOVES = {ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity};

/**
 * Draw `words` into the selection of one element with the role "radiogroup", of the class "words".
 * note(i), where given, stands after the word. onChoose(i) hears of clicks, arrows, Home and End.
 */
export function drawWords(group, words, chosen, onChoose, note = null) {
  const buttons = group.selectAll("button").data(words).join((enter) => {
    const button = enter.append("button").attr("type", "button").attr("role", "radio");
    button.append("span").attr("class", "word");
    if (note) button.append("span").attr("class", "note");
    return button;
  });
  buttons.attr("aria-checked", (_, i) => String(i === chosen)).attr("tabindex", (_, i) => (i === chosen ? 0 : -1))
    .on("click", function () { onChoose(buttons.nodes().indexOf(this)); })
    .on("keydown", (event) => {
      const move = MOVES[event.key];
      if (!move) return;
      event.preventDefault();
      const next = Math.max(0, Math.min(words.length - 1, chosen + move));
      onChoose(next);
      buttons.nodes()[next].focus();
    });
  setText(buttons.select(".word"), (word) => word);
  if (note) setText(buttons.select(".note"), (_, i) => note(i));
}
