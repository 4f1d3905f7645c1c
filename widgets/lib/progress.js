// How far a reader is, lesson by lesson, beside the lessons' names in the sidebar.

import {answers, lessonOf} from "./answers.js";

/** {lesson: {done, total}} of all that is known: what was answered anywhere, and this page. */
export function progressOf(all, here) {
  const known = Object.entries(all).map(([lesson, {total, done}]) => [lesson, {done: Object.keys(done).length, total}]);
  const counted = Object.fromEntries(known);
  if (here.total) counted[here.lesson] = {done: counted[here.lesson]?.done ?? 0, total: here.total};
  return counted;
}

export function showProgress(here, sidebar = document.querySelector("#quarto-sidebar .sidebar-menu-container")) {
  if (!sidebar) return;
  const clear = Object.assign(document.createElement("button"), {
    type: "button", className: "clear-answers", textContent: "Clear my answers"
  });
  clear.addEventListener("click", () => answers.clear());
  sidebar.append(clear);

  function draw() {
    const counted = progressOf(answers.all(), here);
    for (const link of sidebar.querySelectorAll("a.sidebar-link")) {
      const count = counted[lessonOf(link.href)];
      const shown = link.querySelector(".progress-count") ?? link.appendChild(document.createElement("span"));
      shown.className = "progress-count";
      shown.textContent = count ? ` ${count.done} of ${count.total}` : "";
    }
    clear.hidden = !Object.values(counted).some(({done}) => done);
  }
  answers.addEventListener("change", draw);
  draw();
}
