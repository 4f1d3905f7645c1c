// What Quarto's own pages lack, and the embedded engine's have.

export function completePage(main = document.querySelector("main")) {
  if (/[?&]embed=/.test(location.search)) import("./embed.js").then(({showAlone}) => showAlone());
  makeReachable(main);
  keepLinksInPage();
}

/** Folded callouts become buttons; code and formulas that scroll can be scrolled by keyboard. */
function makeReachable(main) {
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

/** Quarto writes links out whole: once a widget has changed the address, they would load the page anew. */
function keepLinksInPage() {
  document.addEventListener("click", ({target}) => {
    const link = target.closest?.("a[data-original-href]");
    if (link?.hash && link.pathname === location.pathname) link.setAttribute("href", link.hash);
  }, {capture: true});
}
