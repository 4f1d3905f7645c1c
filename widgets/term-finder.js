// A field that leaves of the glossary's page the terms that have what is typed.

import {html, render} from "../assets/vendor/lit.js";

/** Which of `entries`, texts that begin with their term, have `typed`: in their term, or else anywhere. */
export function found(entries, typed) {
  const sought = typed.trim().toLowerCase();
  const has = (text) => text.toLowerCase().includes(sought);
  const byTerm = entries.map(({term}) => has(term));
  return byTerm.some(Boolean) ? byTerm : entries.map(({sentence}) => has(sentence));
}

export function termFinder(page = document.querySelector(".glossary")) {
  const terms = [...page.querySelectorAll("dt")];
  const entries = terms.map((term) => ({
    term: term.textContent,
    sentence: term.nextElementSibling.textContent,
  }));
  const root = Object.assign(document.createElement("div"), {className: "find-term"});
  function find(typed) {
    const shown = found(entries, typed);
    terms.forEach((term, i) => (term.hidden = term.nextElementSibling.hidden = !shown[i]));
    for (const letter of page.querySelectorAll("section"))
      letter.hidden = !letter.querySelector("dt:not([hidden])");
    draw(typed.trim() ? `${shown.filter(Boolean).length} of ${terms.length} terms` : "");
  }
  const draw = (says) =>
    render(
      html`<label for="find-term">Find a term</label><input id="find-term" type="search" autocomplete="off"
    @input=${(event) => find(event.target.value)}><span role="status">${says}</span>`,
      root,
    );
  draw("");
  return root;
}
