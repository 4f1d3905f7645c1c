// Words of which one is chosen: a group of radio buttons with one tab stop.

import {setText} from "./dom.js";

const MOVES = {ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity};

/**
 * Draw `words` into the selection of one element with the role "radiogroup", of the class "words".
 * note(i), where given, stands after the word. onChoose(i) hears of clicks, arrows, Home and End.
 */
export function drawWords(group, words, chosen, onChoose, note = null) {
  group.each(function () { this.choose = onChoose; });
  group.selectAll("button").data(words).join((enter) => enter.append("button").call(addWord, note))
    .filter(function (_, i) { return this.getAttribute("aria-checked") !== String(i === chosen); })
    .attr("aria-checked", function () { return String(this.parentNode.children[chosen] === this); })
    .attr("tabindex", function () { return this.parentNode.children[chosen] === this ? 0 : -1; });
  setText(group.selectAll(".word").data(words), (word) => word);
  if (note) setText(group.selectAll(".note").data(words), (_, i) => note(i));
}

function addWord(button, note) {
  button.attr("type", "button").attr("role", "radio");
  button.append("span").attr("class", "word");
  if (note) button.append("span").attr("class", "note");
  button.on("click", function () { this.parentNode.choose(indexOf(this)); });
  button.on("keydown", function (event) {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const all = this.parentNode.children;
    const next = all[Math.max(0, Math.min(all.length - 1, indexOf(this) + move))];
    this.parentNode.choose(indexOf(next));
    next.focus();
  });
}

const indexOf = (button) => [...button.parentNode.children].indexOf(button);
