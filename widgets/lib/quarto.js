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

// What may scroll sideways; under Quarto a cell's output has a frame of its own.
const WIDE = "pre, p:has(> math), .cell-output, .cell-output-display, table";

/** What scrolls sideways can be scrolled by keyboard. */
function makeReachable(main) {
  for (const wide of main.querySelectorAll(WIDE)) scrollers.observe(wide);
}

const scrollers = new ResizeObserver((changes) => {
  for (const {target} of changes) {
    if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
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
