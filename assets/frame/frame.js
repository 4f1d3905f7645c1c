// The frame's behaviour: theme, sidebar, copy buttons, the contents' mark.

const each = (selector, action) => document.querySelectorAll(selector).forEach(action);

// Act on a click, and on Space for an element that is no button.
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

// Lay out a long page part by part, so that a slow phone can respond in between; at once when the
// reader follows a link.
const html = document.documentElement;
const LATER = "main > section:nth-of-type(n + 3) > *"; // as in frame.css
const coming = html.classList.contains("arriving") ? [...document.querySelectorAll(LATER)] : [];
const whenIdle = window.requestIdleCallback ?? ((action) => setTimeout(action, 50));
const AT_ONCE = 60; // elements, about; more would block a slow phone for too long

function show(parts) {
  parts.forEach((part) => part.classList.add("here"));
  if (!coming.length) html.classList.remove("arriving");
}

function nextParts() {
  let [parts, elements] = [0, 0];
  while (parts < coming.length && elements < AT_ONCE)
    elements += coming[parts++].getElementsByTagName("*").length;
  return coming.splice(0, parts);
}

function arrive() {
  show(nextParts());
  html.getBoundingClientRect();
  if (coming.length) whenIdle(arrive);
}

addEventListener("click", () => show(coming.splice(0)), {capture: true, once: true});
whenIdle(arrive);

// Theme: with Quarto's class and key, so that widgets and a reader's choice work in both engines.
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
    // Without storage the choice holds for this page only.
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

// Open and close the sidebar on small screens.
const sidebar = document.getElementById("quarto-sidebar");
const sidebarButton = document.querySelector(".quarto-btn-toggle");

function showSidebar(open) {
  sidebar.classList.toggle("show", open);
  sidebarButton.setAttribute("aria-expanded", String(open));
  if (open) showCurrent();
}

// The list of pages is longer than most windows: show the part with this page.
function showCurrent() {
  const list = sidebar.querySelector(".sidebar-menu-container");
  const current = list.querySelector("[aria-current]");
  if (current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
}

requestAnimationFrame(showCurrent);

onPress(sidebarButton, () => showSidebar(!sidebar.classList.contains("show")));
addEventListener("keydown", ({key}) => {
  if (key !== "Escape" || !sidebar.classList.contains("show")) return;
  showSidebar(false);
  sidebarButton.focus();
});

// Copy buttons, removed without clipboard access (plain http from another machine).
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

// Add a link to each heading, to copy.
each("main section[id] > :is(h2, h3, h4, h5, h6)", (heading) => {
  const link = document.createElement("a");
  link.className = "anchorjs-link";
  link.href = `#${heading.parentElement.id}`;
  link.setAttribute("aria-label", `Link to “${heading.textContent.trim()}”`);
  heading.append(link);
});

// Mark the last heading above the upper third of the window in the table of contents.
const entries = [...document.querySelectorAll("#TOC a")]
  .map((link) => ({link, target: document.getElementById(decodeURIComponent(link.hash.slice(1)))}))
  .filter(({target}) => target);

function markPlace() {
  const line = innerHeight / 3;
  const atEnd = scrollY > 0 && innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  // From the top, no further than needed: measuring a heading lays out the part around it.
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

// One widget alone, for a page that embeds it.
if (html.classList.contains("embedding")) {
  import("../../widgets/lib/embed.js").then(
    ({showAlone}) => showAlone(),
    () => html.classList.remove("embedding"),
  );
}

// Search: its script and its index come when it is first asked for. What is typed meanwhile is kept.
const isText = ({key, ctrlKey, metaKey, altKey}) =>
  key.length === 1 && !(ctrlKey || metaKey || altKey);

async function search() {
  let typed = "";
  const keep = (event) => {
    if (!isText(event)) return;
    typed += event.key;
    event.preventDefault();
    event.stopPropagation();
  };
  document.addEventListener("keydown", keep, true);
  const {openSearch} = await import("./search.js");
  document.removeEventListener("keydown", keep, true);
  openSearch(typed);
}

each(".search-open", (button) => button.addEventListener("click", search));
if (document.querySelector(".search-open")) {
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || !isText(event) || typing) return;
    event.preventDefault();
    search();
  });
}
