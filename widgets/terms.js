// The glossary's notes, which stand hidden at the end of a page, beside the terms that they explain:
// shown by pointer, keyboard focus or a first tap. A second tap, a click or Enter follows the link.

const GAP = 6,
  MARGIN = 8,
  LINGER = 250; // px, px, ms

/** The left and top of a note of `size` for the box of a term, all in px of the window. */
export function placeOf(box, size, view) {
  const below = box.bottom + GAP;
  const fits = below + size.height + MARGIN <= view.height || box.top < size.height + GAP + MARGIN;
  const left = Math.min(box.left, view.width - size.width - MARGIN);
  return {left: Math.max(MARGIN, left), top: fits ? below : box.top - GAP - size.height};
}

export function terms(main = document.querySelector("main")) {
  let shown, touched, leaving;
  const termOf = (event) => event.target.closest?.("a.term");
  const noteOf = (link) => document.getElementById(link.getAttribute("aria-describedby"));

  function show(link) {
    clearTimeout(leaving);
    if (shown === link) return;
    hide();
    const note = noteOf(link);
    if (note.parentElement !== document.body) document.body.append(note); // no ancestor clips it
    note.hidden = false;
    const view = {width: document.documentElement.clientWidth, height: innerHeight};
    const {left, top} = placeOf(link.getClientRects()[0], note.getBoundingClientRect(), view);
    Object.assign(note.style, {left: `${left + scrollX}px`, top: `${top + scrollY}px`});
    shown = link;
  }
  function hide() {
    clearTimeout(leaving);
    if (shown) noteOf(shown).hidden = true;
    shown = undefined;
  }
  const hideSoon = () => (leaving = setTimeout(hide, LINGER));

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    if (termOf(event)) show(termOf(event));
    else if (event.target.closest?.(".term-note")) clearTimeout(leaving);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.pointerType !== "touch" && shown && document.activeElement !== shown) hideSoon();
  });
  main.addEventListener("focusin", (event) => {
    if (termOf(event)?.matches(":focus-visible")) show(termOf(event));
  });
  main.addEventListener("focusout", (event) => termOf(event) === shown && hide());
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch" && shown !== termOf(event);
    if (shown && !termOf(event) && !event.target.closest?.(".term-note")) hide();
  });
  main.addEventListener("click", (event) => {
    if (!termOf(event) || !touched) return;
    event.preventDefault();
    show(termOf(event));
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}
