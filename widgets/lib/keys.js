// Keys that choose among radio buttons.

/** Arrow keys in a group of radio buttons: up and down by a row, where they stand in `columns`. */
export function moveByKey(event, choose, columns = 1) {
  const moves = {
    ArrowUp: -columns,
    ArrowLeft: -1,
    ArrowDown: columns,
    ArrowRight: 1,
    Home: -Infinity,
    End: Infinity,
  };
  const by = moves[event.key];
  if (!by) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll("[role=radio]")];
  const last = buttons.length - 1;
  const here = buttons.indexOf(event.target.closest("button"));
  const isInside =
    columns === 1 || Math.abs(by) === Infinity || (here + by >= 0 && here + by <= last);
  const next = isInside ? Math.max(0, Math.min(last, here + by)) : here;
  choose(next);
  buttons[next].focus();
}
