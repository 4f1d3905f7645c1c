// A page with one widget and nothing else on it: lesson.html?embed=mask-builder, for an <iframe>.

/** Shows the widget that the address asks for alone, with its caption and badge; does nothing without one. */
export function showAlone() {
  const root = document.documentElement;
  const asked = new URLSearchParams(location.search).get("embed");
  const part = asked === null ? null : document.getElementById(asked);
  root.classList.remove("embedding");
  if (!part?.matches(".widget, .diagram") || root.classList.contains("embedded")) return;
  root.classList.add("embedded");
  root.classList.remove("in-parts"); // what is laid out later is clipped
  for (let at = part; at !== document.body; at = at.parentElement) {
    at.hidden = at.inert = false;
    if (at instanceof HTMLDetailsElement) at.open = true; // a widget in a closed box
    for (const other of at.parentElement.children)
      other.classList.toggle("not-embedded", other !== at);
  }
  const url = new URL(location.href);
  url.searchParams.delete("embed");
  url.hash = asked;
  const link = Object.assign(document.createElement("a"), {
    href: url.href,
    target: "_blank",
    rel: "noopener",
    textContent: document.title,
  });
  const from = Object.assign(document.createElement("p"), {className: "embed-from"});
  from.append("From ", link);
  part.after(from);
}
