// What the frame does: theme, sidebar, folded callouts, copy buttons, and the reader's place.

const each = (selector, action) => document.querySelectorAll(selector).forEach(action);

// Acts on a click, and on Space where the element is not a real button.
function onPress(element, action) {
  element.addEventListener("click", (event) => {
    event.preventDefault();
    action();
  });
  element.addEventListener("keydown", (event) => {
    const presses = event.key === " " || (event.key === "Enter" && !element.href);
    if (!presses || element.tagName === "BUTTON") return;
    event.preventDefault();
    action();
  });
}

// A long page is laid out part by part, so that a slow phone can answer in between; all at once
// when the reader goes somewhere.
const html = document.documentElement;
const LATER = "main > section:nth-of-type(n + 3) > *"; // as in frame.css
const coming = html.classList.contains("arriving") ? [...document.querySelectorAll(LATER)] : [];
const whenIdle = window.requestIdleCallback ?? ((action) => setTimeout(action, 50));
const AT_ONCE = 60; // elements, about: more would keep a slow phone busy for too long

function show(parts) {
  parts.forEach((part) => part.classList.add("here"));
  if (!coming.length) html.classList.remove("arriving");
}

function nextParts() {
  let [parts, elements] = [0, 0];
  while (parts < coming.length && elements < AT_ONCE) elements += coming[parts++].getElementsByTagName("*").length;
  return coming.splice(0, parts);
}

function arrive() {
  show(nextParts());
  html.getBoundingClientRect();
  if (coming.length) whenIdle(arrive);
}

addEventListener("click", () => show(coming.splice(0)), {capture: true, once: true});
whenIdle(arrive);

// Theme: Quarto's class and key, so that widgets and a reader's choice carry over.
const KEY = "quarto-color-scheme";
const toggles = document.querySelectorAll(".quarto-color-scheme-toggle");

function showTheme(dark) {
  document.body.classList.toggle("quarto-dark", dark);
  document.body.classList.toggle("quarto-light", !dark);
  toggles.forEach((toggle) => toggle.setAttribute("aria-pressed", String(dark)));
}

function storedTheme() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function chooseTheme(dark) {
  showTheme(dark);
  try {
    localStorage.setItem(KEY, dark ? "alternate" : "default");
  } catch {
    // Storage is off: the choice holds for this page.
  }
}

const isDark = () => document.body.classList.contains("quarto-dark");
showTheme(isDark());
toggles.forEach((toggle) => onPress(toggle, () => chooseTheme(!isDark())));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({matches}) => {
  if (!storedTheme()) showTheme(matches);
});
addEventListener("storage", ({key, newValue}) => {
  if (key === KEY && newValue) showTheme(newValue === "alternate");
});

// The sidebar on small screens.
const sidebar = document.getElementById("quarto-sidebar");
const sidebarButton = document.querySelector(".quarto-btn-toggle");

function showSidebar(open) {
  sidebar.classList.toggle("show", open);
  sidebarButton.setAttribute("aria-expanded", String(open));
}

onPress(sidebarButton, () => showSidebar(!sidebar.classList.contains("show")));
addEventListener("keydown", ({key}) => {
  if (key !== "Escape" || !sidebar.classList.contains("show")) return;
  showSidebar(false);
  sidebarButton.focus();
});

// Callouts that fold.
each('[data-bs-toggle="collapse"]', (header) => {
  const target = document.querySelector(header.dataset.bsTarget);
  onPress(header, () => {
    const open = target.classList.toggle("show");
    header.classList.toggle("collapsed", !open);
    header.setAttribute("aria-expanded", String(open));
  });
});

// Copy buttons. Without clipboard access (plain http to another machine) they would do nothing.
each(".code-copy-button", (button) => {
  if (!navigator.clipboard) return button.remove();
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    await navigator.clipboard.writeText(code.textContent);
    button.classList.add("code-copy-button-checked");
    button.setAttribute("aria-label", "Copied");
    setTimeout(() => {
      button.classList.remove("code-copy-button-checked");
      button.setAttribute("aria-label", "Copy to clipboard");
    }, 1500);
  });
});

// What scrolls sideways can be scrolled by keyboard too.
const scrollers = new ResizeObserver((changes) => {
  for (const {target} of changes) {
    if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
each("main pre, main span[id^='eq-'], main p:has(> math), main .cell-output, main table", (element) =>
  scrollers.observe(element)
);

// A link to each heading, to be copied.
each("main section[id] > .anchored", (heading) => {
  const link = document.createElement("a");
  link.className = "anchorjs-link";
  link.href = `#${heading.parentElement.id}`;
  link.setAttribute("aria-label", `Link to “${heading.textContent.trim()}”`);
  heading.append(link);
});

// The table of contents follows the scroll: the last heading above the upper third is the place.
const entries = [...document.querySelectorAll("#TOC a.nav-link")]
  .map((link) => ({link, target: document.getElementById(decodeURIComponent(link.hash.slice(1)))}))
  .filter(({target}) => target);

function markPlace() {
  const line = innerHeight / 3;
  const atEnd = scrollY > 0 && innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  // From the top, and no further than needed: to ask where a heading is lays out what it stands in.
  const below = entries.findIndex(({target}) => target.getBoundingClientRect().top > line);
  const current = entries[atEnd || below < 0 ? entries.length - 1 : Math.max(0, below - 1)];
  for (const entry of entries) {
    const active = entry === current;
    entry.link.classList.toggle("active", active);
    if (active) entry.link.setAttribute("aria-current", "true");
    else entry.link.removeAttribute("aria-current");
  }
}

if (entries.length) {
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      markPlace();
    });
  };
  addEventListener("scroll", soon, {passive: true});
  addEventListener("resize", soon, {passive: true});
  soon();
}
