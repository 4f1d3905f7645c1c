// What Quarto's own pages leave out of reach of a keyboard. The embedded engine's pages have it.

/** Folded callouts become buttons; code and formulas that scroll can be scrolled by keyboard. */
export function makeReachable(main = document.querySelector("main")) {
  for (const header of main.querySelectorAll(".callout-header[data-bs-toggle]:not([role])")) {
    header.setAttribute("role", "button");
    header.tabIndex = 0;
    header.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      header.click();
    });
  }
  for (const scrolls of main.querySelectorAll("pre:not([tabindex]), span[id^='eq-']:not([tabindex])")) {
    scrolls.tabIndex = 0;
  }
}
