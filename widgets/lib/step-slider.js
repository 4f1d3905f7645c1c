// A slider over named steps: a native range input, and a button for each step below it.

let count = 0;

/** A view (element with `.value`, sends "input") over the steps called `names`. */
export function stepSlider(names, {label = "Step", value = 0} = {}) {
  const form = document.createElement("form");
  form.className = "step-slider";
  const range = Object.assign(document.createElement("input"), {
    type: "range", id: `step-slider-${(count += 1)}`, min: 0, max: names.length - 1, step: 1, value
  });
  const caption = Object.assign(document.createElement("label"), {htmlFor: range.id, textContent: label});
  const ticks = document.createElement("div");
  ticks.className = "step-ticks";

  const buttons = names.map((name, step) => {
    // One tab stop for the whole control: the slider; the buttons are for pointers.
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: name, tabIndex: -1});
    button.addEventListener("click", () => {
      form.value = step;
      form.dispatchEvent(new Event("input", {bubbles: true}));
    });
    return button;
  });
  ticks.append(...buttons);
  form.append(caption, range, ticks);
  form.addEventListener("submit", (event) => event.preventDefault());

  const show = () => {
    range.setAttribute("aria-valuetext", `${range.value} of ${names.length - 1}: ${names[range.value]}`);
    buttons.forEach((button, step) => button.classList.toggle("current", step === range.valueAsNumber));
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
