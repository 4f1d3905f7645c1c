// Challenges: goals that stand in the page and that a widget ticks when its own numbers meet them.
// A goal `[…]{.goal #goal-NAME}` in `::: {.challenges for="ID"}` belongs to the widget in #ID.

/** Tells each goal on the page, of those that `challenges` names, that it is met now. */
export function meetGoals(root, challenges, model, state) {
  const place = root.closest(".widget")?.id;
  for (const [name, isMet] of Object.entries(challenges)) {
    const goal = document.querySelector(`.challenges[data-for="${place}"] #goal-${name}`);
    if (goal && !goal.classList.contains("met") && isMet(model, state))
      goal.dispatchEvent(new Event("met"));
  }
}
