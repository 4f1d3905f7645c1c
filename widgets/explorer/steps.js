// The steps of the guided start, how an act leads from one to the next, and the scroll to what comes next.

// Of the steps, which are 1 to 5:
export const CALM = 2; // the last one before a word is pressed
export const HEADS = 3; // the one that asks for a head
export const FREE = 6; // behind the last one: all is open

const [HEAD, GAP] = [53, 8]; // px: of the page's head on a phone, and a space

/** What an act adds to a change of the state, where the guide was waiting for it or for less. */
export const next = ({state: {guide}}, step) =>
  guide < FREE && guide <= step ? {guide: step + 1} : {};

/** Scrolls so that what `selector` finds is in view, as far as the guide's card stays in view under the sentence. */
export function showGuide({root, data: {session}}, selector) {
  Object.assign(session, {hoverHead: null, isStill: true}); // what comes under the pointer isn't pointed at
  requestAnimationFrame(() => {
    const [text, card, target] = [".text", ".guide", selector].map((name) =>
      root.querySelector(name),
    );
    if (!card || !target) return;
    const {position, top} = getComputedStyle(text);
    const pinned =
      position === "sticky" ? parseFloat(top) + text.getBoundingClientRect().height : HEAD;
    const most = card.getBoundingClientRect().top - pinned - GAP;
    const by = Math.min(
      Math.max(0, target.getBoundingClientRect().bottom + GAP - innerHeight),
      most,
    );
    if (by)
      scrollBy({
        top: by,
        behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth",
      });
  });
}
