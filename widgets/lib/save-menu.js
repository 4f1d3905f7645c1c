// "Save" on the lower edge of every widget; what is in its menu comes when it is first opened.

/**
 * Puts the menu on the card around `root`, a widget's element; `label` is what the widget is called;
 * `pictures` has more to save, by name: () → {file, svg}.
 */
export function offerSaving(root, label, pictures = {}) {
  const card = root.closest(".widget[id]");
  if (!card || card.querySelector(".widget-save")) return;
  const menu = Object.assign(document.createElement("details"), {className: "widget-save"});
  const summary = Object.assign(document.createElement("summary"), {textContent: "Save"});
  const acts = document.createElement("div");
  summary.setAttribute("aria-label", `Save: ${label}`);
  acts.setAttribute("role", "group");
  acts.setAttribute("aria-label", `Save: ${label}`);
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
  menu.addEventListener("focusout", ({relatedTarget}) => relatedTarget && !menu.contains(/** @type {Node} */ (relatedTarget)) && close());
  card.append(menu);
}
