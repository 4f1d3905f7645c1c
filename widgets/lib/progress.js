// How far a reader is, lesson by lesson, beside the lessons' names in the sidebar and on the map.

import {answers, lessonOf} from "./answers.js";

/** {lesson: "2 of 5"} of the lessons in which something is answered. */
export function progressOf(all) {
  const counted = Object.entries(all).map(([lesson, {total, done}]) => [
    lesson,
    Object.keys(done).length,
    total,
  ]);
  return Object.fromEntries(
    counted
      .filter(([, done]) => done)
      .map(([lesson, done, total]) => [lesson, `${done} of ${total}`]),
  );
}

export function showProgress(
  sidebar = document.querySelector("#quarto-sidebar .sidebar-menu-container"),
) {
  if (!sidebar) return;
  const clear = Object.assign(document.createElement("button"), {
    type: "button",
    className: "clear-answers",
    textContent: "Clear my answers",
  });
  clear.addEventListener("click", () => answers.clear());
  sidebar.append(clear);

  function draw() {
    const counted = progressOf(answers.all());
    for (const link of [
      ...sidebar.querySelectorAll("a.sidebar-link[href]"),
      ...document.querySelectorAll(".course-map a"),
    ]) {
      const shown =
        link.querySelector(".progress-count") ?? link.appendChild(document.createElement("span"));
      shown.className = "progress-count";
      const count = counted[lessonOf(link.href)];
      shown.textContent = count ? ` ${count} done` : "";
      shown.title = count ? `${count} questions, exercises and goals` : "";
      link.classList.toggle("done", Boolean(count) && new Set(count.split(" of ")).size === 1);
    }
    clear.hidden = !Object.keys(counted).length;
  }
  answers.addEventListener("change", draw);
  draw();
}
