// A slider over named steps: a native range input, and below it a button for each step, or for some.
// The two stand in a box of their own, where the slider can be laid out alone.

let count = 0;

/**
 * A view (element with `.value`, sends "input") over the steps called `names`.
 * `ticks`: where there are too many steps for a button each, those that get one.
 */
export function stepSlider(names, {label = "Step", value = 0, ticks: some} = {}) {
  const form = document.createElement("form");
  form.className = "step-slider";
  const range = Object.assign(document.createElement("input"), {
    type: "range", id: `step-slider-${(count += 1)}`, min: 0, max: names.length - 1, step: 1, value
  });
  const caption = Object.assign(document.createElement("label"), {htmlFor: range.id, textContent: label});
  const ticks = document.createElement("div");
  ticks.className = "step-ticks";

  const marked = some ?? names.map((_, step) => step);
  const buttons = marked.map((step) => {
    // One tab stop for the whole control: the slider; the buttons are for pointers.
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: names[step], tabIndex: -1});
    if (some) button.style.setProperty("--at", step / (names.length - 1));
    button.addEventListener("click", () => {
      form.value = step;
      form.dispatchEvent(new Event("input", {bubbles: true}));
    });
    return button;
  });
  ticks.classList.toggle("placed", !!some);
  ticks.append(...buttons);
  const block = document.createElement("div"); // in a grid the slider would not be laid out alone
  block.append(range, ticks);
  form.append(caption, block);
  form.addEventListener("submit", (event) => event.preventDefault());

  const show = () => {
    range.setAttribute("aria-valuetext", `${range.value} of ${names.length - 1}: ${names[range.value]}`);
    buttons.forEach((button, i) => button.classList.toggle("current", marked[i] === range.valueAsNumber));
  };
  range.addEventListener("input", show);
  show();
  return Object.defineProperty(form, "value", {
    get: () => range.valueAsNumber,
    set(step) {
      range.value = step;
      show();
    }
  });
}
