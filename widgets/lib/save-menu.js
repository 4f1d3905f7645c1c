// "Save" on the lower edge of every widget; what is in its menu comes when it is first opened.

/**
 * Puts the menu on the card around `root`, a widget's element; `label` is what the widget is called;
 * `pictures` has more to save, by name: () → {file, svg}. The menu is called `name`; `isAbove`: it stands
 * before the widget, not on its lower edge.
 */
export function offerSaving(root, label, pictures = {}, {name = "Save", isAbove = false} = {}) {
  const card = root.closest(".widget[id]");
  if (!card || card.querySelector(".widget-save")) return;
  const menu = Object.assign(document.createElement("details"), {
    className: isAbove ? "widget-save above" : "widget-save",
  });
  const summary = Object.assign(document.createElement("summary"), {textContent: name});
  const acts = document.createElement("div");
  summary.setAttribute("aria-label", `${name}: ${label}`);
  acts.setAttribute("role", "group");
  acts.setAttribute("aria-label", `${name}: ${label}`);
  menu.append(summary, acts);
  const close = () => (menu.open = false);
  menu.addEventListener("toggle", async () => {
    if (!menu.open || acts.children.length) return;
    const {fillMenu} = await import("./save.js");
    fillMenu(acts, {card, root, label, pictures});
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    close();
    summary.focus();
  });
  menu.addEventListener(
    "focusout",
    ({relatedTarget}) =>
      relatedTarget && !menu.contains(/** @type {Node} */ (relatedTarget)) && close(),
  );
  if (isAbove) card.prepend(menu);
  else card.append(menu);
}
