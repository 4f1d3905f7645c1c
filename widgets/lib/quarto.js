// What pages need beside their widgets; most of it only Quarto's lack.

export function completePage(main = document.querySelector("main")) {
  if (/[?&]embed=/.test(location.search)) import("./embed.js").then(({showAlone}) => showAlone());
  makeReachable(main);
  keepLinksInPage();
  openTarget();
  addEventListener("hashchange", openTarget);
}

/** Opens the folded box that the address leads to, or into. */
function openTarget() {
  const target = document.querySelector(":target");
  const closed = target?.closest("details:not([open])");
  if (!closed) return;
  for (let at = closed; at; at = at.parentElement.closest("details")) at.open = true;
  target.scrollIntoView();
}

/** Code and formulas that scroll can be scrolled by keyboard. */
function makeReachable(main) {
  const scrolling = main.querySelectorAll("pre:not([tabindex]), p:has(> math[display='block'])");
  for (const scrolls of scrolling) scrolls.tabIndex = 0;
  for (const table of main.querySelectorAll(".nav-sidebar .cell-output-display"))
    tables.observe(table);
}

/** Tables, once they are too wide: under Quarto, for the embedded site's frame sees to it itself. */
const tables = new ResizeObserver((changes) => {
  for (const {target} of changes)
    target.tabIndex = target.scrollWidth > target.clientWidth + 1 ? 0 : -1;
});

/** Quarto writes links out whole: once a widget has changed the address, they would load the page anew. */
function keepLinksInPage() {
  document.addEventListener(
    "click",
    ({target}) => {
      const link = target.closest?.("a[data-original-href]");
      if (link?.hash && link.pathname === location.pathname) link.setAttribute("href", link.hash);
    },
    {capture: true},
  );
}
