// Widgets that fail to start: a plain sentence stands in place of Observable's error, which remains in
// the browser's console.

const ERROR = ".observablehq--error";
const SENTENCE =
  "The interactive part is missing: its script could not be loaded, or failed. Reload the page to try again.";

/** Says so in the place of each widget whose cell has failed, or fails from now on. */
export function tellFailures(main = document.querySelector("main")) {
  // Observable's event doesn't bubble.
  main.addEventListener("error", ({target}) => target.matches(ERROR) && tell(target), {
    capture: true,
  });
  main.querySelectorAll(ERROR).forEach(tell);
}

function tell(output) {
  const place = output.closest(".widget, .diagram, .tour-strip");
  if (!place || place.classList.contains("failed")) return; // all of its cells fail with the first
  place.classList.add("failed");
  if (place.matches(".diagram")) return; // its table stays, and has the same numbers
  const note = Object.assign(document.createElement("p"), {
    className: "failure",
    role: "status",
    textContent: SENTENCE,
  });
  (output.closest(".cell") ?? output).before(note);
}
