// What is pressed stays under the pointer, though what stands above it grows or shrinks.

/** Remembers where what `selector` finds is, until the next text has been read and drawn. */
export function keepInPlace({root, data: {session}}, selector) {
  session.held = {selector, top: root.querySelector(selector).getBoundingClientRect().top};
}

/** Scrolls by as much as it moved; where the page is at its top, room above the sentence makes up for the rest. */
export function moveBack({root, model: m, data: {session}}) {
  if (!session.held || !m.isRead) return;
  const {selector, top} = session.held;
  session.held = null;
  const [text, target] = [root.querySelector(".text"), root.querySelector(selector)];
  if (!target) return;
  text.style.marginTop = "";
  scrollBy({top: target.getBoundingClientRect().top - top, behavior: "instant"});
  const left = top - target.getBoundingClientRect().top;
  if (left > 1) text.style.marginTop = `${left}px`;
}
