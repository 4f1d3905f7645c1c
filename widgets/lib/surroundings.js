// What surrounds a widget and may change while it is shown. Each observer calls `notify` at once
// and on every change, and returns the function that stops it, as Generators.observe expects.

const TOKEN = /^--color-/;

/** The colour tokens of assets/course.css as they are now: {page: "rgb(…)", query: "rgb(…)", …}. */
export function themeColors() {
  const names = new Set([...document.styleSheets].flatMap(tokenNames));
  const probe = document.body.appendChild(document.createElement("span"));
  const now = (name) => {
    probe.style.color = `var(${name})`; // a token may depend on the scheme: ask what it comes to
    return getComputedStyle(probe).color;
  };
  const colors = [...names].map((name) => [camelCase(name.replace(TOKEN, "")), now(name)]);
  probe.remove();
  return Object.fromEntries(colors);
}

export function observeTheme(notify) {
  const tell = () => notify(themeColors());
  const observer = new MutationObserver(tell);
  observer.observe(document.body, {attributes: true, attributeFilter: ["class"]});
  tell();
  return () => observer.disconnect();
}

export function observeReducedMotion(notify) {
  const query = matchMedia("(prefers-reduced-motion: reduce)");
  const tell = () => notify(query.matches);
  query.addEventListener("change", tell);
  tell();
  return () => query.removeEventListener("change", tell);
}

function tokenNames(sheet) {
  let rules;
  try {
    rules = sheet.cssRules;
  } catch {
    return []; // a style sheet of another origin can't be read, and holds none of our tokens
  }
  return [...rules]
    .filter((rule) => rule.style)
    .flatMap((rule) => [...rule.style])
    .filter((name) => TOKEN.test(name));
}

const camelCase = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
