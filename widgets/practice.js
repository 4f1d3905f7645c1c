// Predictions, bug hunts, exercises and goals: the page's lists and folded answers become questions
// that ask before they reveal. Without this module, the page shows them as they stand.

import {answers, lessonOf} from "./lib/answers.js";
import {showProgress} from "./lib/progress.js";

/** What a question says of the answer `chosen`, one of 1 … n, of which `texts` are the elements; the right one, which is marked, for the ear alone: code stays code. */
const verdict = (chosen, right, texts) =>
  chosen === right
    ? ["Right."]
    : [
        "Not that one.",
        element(
          "span",
          {className: "screen-reader-only"},
          " The answer is: ",
          texts[right - 1].cloneNode(true),
        ),
      ];
const ASKS = "What follows is blurred.";

const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

/** One prediction or bug hunt. `keep(answer)` is called with what was chosen, or undefined. */
function question(root, keep) {
  const choices = root.querySelector(":scope > ol");
  const folded = root.querySelector(":scope > .answer");
  const body = folded.querySelector(":scope > div");
  const reasons = body.querySelector(":scope > ol");
  const right = Number(root.dataset.right);
  const next = root.nextElementSibling;
  const after = next?.matches(".after-prediction") ? next : null; // what gives the answer away

  const asked = choices.previousElementSibling;
  asked.id = asked.id || `${root.id}-question`;
  const radios = [...choices.children].map((item, i) => {
    const radio = element("input", {type: "radio", name: root.id, value: i + 1});
    item.replaceChildren(element("label", {}, radio, element("span", {}, ...item.childNodes)));
    item.append(
      element(
        "details",
        {className: "why", hidden: true},
        element("summary", {textContent: i + 1 === right ? "Why this is right" : "Why not"}),
        element("div", {className: "reason"}, ...reasons.children[0].childNodes),
      ),
    );
    reasons.children[0].remove();
    return radio;
  });
  reasons.remove();

  const texts = radios.map((radio) => radio.nextElementSibling);
  const button = element("button", {type: "submit"}); // so that Enter on a choice answers
  const status = element("output", {ariaLabel: "Verdict"});
  const rest = element("div", {className: "rest", hidden: true}, ...body.childNodes);
  const form = element("form", {className: "choices"});
  const group = element("div", {role: "radiogroup"});
  for (const named of [form, group]) named.setAttribute("aria-labelledby", asked.id);
  choices.replaceWith(form);
  group.append(choices);
  form.append(group, element("div", {className: "ask"}, button, status));
  folded.replaceWith(rest);

  function show(answer) {
    const known = answer >= 1 && answer <= radios.length ? answer : undefined;
    radios.forEach((radio, i) => {
      if (known) radio.checked = i + 1 === known;
      radio.disabled = Boolean(known);
      const item = radio.closest("li");
      const isChosen = i + 1 === known;
      item.classList.toggle("right", Boolean(known) && i + 1 === right);
      item.classList.toggle("wrong", isChosen && known !== right);
      item.classList.toggle("chosen", isChosen);
      item.querySelector(".why").open = isChosen; // the others' reasons stay folded
    });
    root.querySelectorAll(".why, .rest").forEach((part) => (part.hidden = !known));
    form.classList.toggle("is-right", known === right);
    form.classList.toggle("is-wrong", Boolean(known) && known !== right);
    if (after) after.inert = !known && !after.matches(":has(:target),.embedded *"); // the address asks for it
    status.replaceChildren(...(known ? verdict(known, right, texts) : [after?.inert ? ASKS : ""]));
    button.textContent = known ? "Ask me again" : "Show me";
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = radios.find((radio) => radio.checked);
    if (radios[0].disabled) return keep(undefined);
    if (!chosen) return (status.textContent = "Choose one first.");
    keep(Number(chosen.value));
    button.focus({preventScroll: true}); // a choice that is made can't keep it
  });
  form.addEventListener("reset", () => radios.forEach((radio) => (radio.checked = false)));
  return (answer) => {
    if (answer === undefined) form.reset();
    show(answer);
  };
}

/** An exercise is done on the reader's machine: the page can only be told so. */
function exercise(root, keep) {
  const box = element("input", {type: "checkbox"});
  root.append(element("label", {className: "done"}, box, "My version passes its check"));
  box.addEventListener("change", () => keep(box.checked || undefined));
  return (answer) => (box.checked = answer === true);
}

/** A goal of a widget, which tells it "met" (lib/goals.js). */
function goal(root, keep, announce) {
  root.addEventListener("met", () => {
    keep(true);
    announce(`Goal met: ${root.textContent}`);
  });
  return (answer) => root.classList.toggle("met", answer === true);
}

/** Brings the page's questions to life, and the sidebar's progress. */
export function practice(main = document.querySelector("main")) {
  const lesson = lessonOf(location) ?? "course";
  const roots = [...main.querySelectorAll(".prediction, .bug-hunt, .exercise, .goal")];
  const status = main.appendChild(element("p", {className: "screen-reader-only", role: "status"}));
  const announce = (text) => (status.textContent = text);
  const draws = roots.map((root) => {
    const keep = (answer) => answers.set(lesson, root.id, answer, roots.length);
    const start = root.matches(".exercise") ? exercise : root.matches(".goal") ? goal : question;
    const show = start(root, keep, announce);
    root.classList.add("practice-live");
    let last = NaN;
    return () => {
      const answer = answers.get(lesson, root.id);
      if (answer !== last) show((last = answer)); // so that a choice elsewhere is not undone
    };
  });
  const draw = () => draws.forEach((one) => one());
  answers.addEventListener("change", draw);
  draw();
  showProgress();
}
