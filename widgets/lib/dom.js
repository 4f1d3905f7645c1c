// Small things that views share.

/** The child `tag` of a selection of one element, made when it is not there yet. */
export function part(parent, tag, className) {
  const selector = className ? `:scope > ${tag}.${className}` : `:scope > ${tag}`;
  const found = parent.select(selector);
  return found.empty() ? parent.append(tag).attr("class", className ?? null) : found;
}

/** Writes only the texts that changed, into the text that is there: the rest needs no new layout. */
export function setText(selection, text) {
  selection.each(function (datum, i) {
    const next = String(typeof text === "function" ? text(datum, i) : text);
    if (this.textContent === next) return;
    if (this.childNodes.length === 1 && this.firstChild.nodeType === Node.TEXT_NODE) this.firstChild.data = next;
    else this.textContent = next;
  });
}

/** Sets an attribute only where it changes: a browser looks at the whole element again at every write. */
export function setAttr(selection, name, value) {
  selection.each(function (datum, i) {
    const next = typeof value === "function" ? value(datum, i) : value;
    if (next === null) this.removeAttribute(name);
    else if (this.getAttribute(name) !== String(next)) this.setAttribute(name, next);
  });
}

/** The same for several, {name: value}. In a drawing every write, even of the same value, is laid out again. */
export function setAttrs(selection, values) {
  for (const [name, value] of Object.entries(values)) setAttr(selection, name, value);
}

/** Adds or takes a class only where it changes. */
export function setClass(selection, name, isOn) {
  selection.each(function (datum, i) {
    if (this.classList.contains(name) !== !!isOn(datum, i)) this.classList.toggle(name);
  });
}

/** Sets a CSS property only where it changes: those that are inherited cost a new style for all below. */
export function setStyle(selection, name, value) {
  selection.each(function (datum, i) {
    const next = String(typeof value === "function" ? value(datum, i) : value);
    if (this.style.getPropertyValue(name) !== next) this.style.setProperty(name, next);
  });
}

/** Fills marks to a share, 0 to 1, of their width. Not by a custom property: that costs twice the style. */
export const setShare = (selection, share) => setScale(selection, "scaleX", share);

/** The same of their height. */
export const setHeight = (selection, share) => setScale(selection, "scaleY", share);

function setScale(selection, scale, share) {
  setStyle(selection, "transform", (datum, i) => `${scale}(${+share(datum, i).toFixed(5)})`);
}

/** A form of Inputs.range with a name for its slider too: Inputs labels the number box alone. */
export function labelled(form) {
  form.classList.add("range");
  form.querySelector("input[type=range]").setAttribute("aria-label", form.querySelector("label").textContent);
  return form;
}
