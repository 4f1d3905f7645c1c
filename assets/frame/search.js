// Search over all pages, offline: a dialog with a field and its list of places (ARIA's combobox).
// frame.js loads this when a reader first asks for it; the names of all places come first, and
// their texts follow.
import {documents, excerpt, indexOf} from "./search-index.js";

const SITE = new URL("../../", import.meta.url);
const MOST = 10;
const KINDS = {term: "Glossary", function: "Function"};

const fetched = async (name) => (await fetch(new URL(`search/${name}.json`, SITE))).json();
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const field = make("input", {
  type: "search",
  role: "combobox",
  "aria-label": "Search the course",
  placeholder: "Search the course",
  "aria-controls": "search-results",
  "aria-expanded": "false",
  "aria-autocomplete": "list",
  autocomplete: "off",
  autocapitalize: "off",
  spellcheck: "false",
  enterkeyhint: "go",
});
const list = make("div", {id: "search-results", role: "listbox", "aria-label": "Places found"});
const said = make("p", {class: "search-said", role: "status"});
const close = make("button", {type: "button", class: "search-close"}, "Close");
const dialog = make(
  "dialog",
  {class: "search", "aria-label": "Search"},
  make("div", {class: "search-field"}, field, close),
  said,
  list,
);
document.body.append(dialog);

let index; // of names at first, then of texts too
let chosen = -1;

async function load() {
  try {
    const docs = documents(await fetched("names"));
    index = indexOf(docs);
    showResults();
    const texts = await fetched("text");
    const whole = docs.map((one, i) => ({...one, text: texts[i] || one.text}));
    setTimeout(() => {
      index = indexOf(whole);
      if (chosen < 1) showResults(); // who is choosing from the list keeps it
    });
  } catch {
    said.textContent = "The search could not be loaded.";
  }
}

function showResults() {
  const query = field.value.trim();
  const found = index && query ? index.find(query, MOST) : [];
  list.replaceChildren(...found.map(option));
  field.setAttribute("aria-expanded", String(found.length > 0));
  choose(found.length ? 0 : -1);
  if (!index) said.textContent = "Loading …";
  else if (!query) said.textContent = "";
  else
    said.textContent = found.length
      ? `${found.length}${found.length === MOST ? " or more" : ""} found`
      : "Nothing found. Try another word, or fewer.";
}

function option({address, page, title, kind, text, terms}, i) {
  const pieces = excerpt(text, terms).map((piece) =>
    piece.marked ? make("mark", {}, piece.text) : piece.text,
  );
  const where = KINDS[kind] ?? page;
  const about = {
    id: `search-result-${i}`,
    role: "option",
    "aria-selected": "false",
    tabindex: "-1",
  };
  return make(
    "a",
    {href: new URL(address, SITE).href, ...about},
    make("span", {class: "search-title"}, title),
    ...(where ? [make("span", {class: "search-page"}, ` ${where}`)] : []),
    make("span", {class: "search-excerpt"}, ...pieces),
  );
}

function choose(i) {
  list.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = i;
  const option = list.children[i];
  if (!option) return field.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({block: "nearest"});
  field.setAttribute("aria-activedescendant", option.id);
}

field.addEventListener("input", showResults);
field.addEventListener("keydown", (event) => {
  const count = list.children.length;
  if (event.key === "ArrowDown" && count) choose((chosen + 1) % count);
  else if (event.key === "ArrowUp" && count) choose((chosen + count - 1) % count);
  else if (event.key === "Enter") list.children[chosen]?.click();
  else if (event.key === "Escape")
    dialog.close(); // at once: a field of type search would be emptied first
  else return;
  event.preventDefault();
});
list.addEventListener("click", (event) => event.target.closest("a") && dialog.close());
list.addEventListener("pointermove", (event) => {
  const over = [...list.children].indexOf(event.target.closest("a"));
  if (over >= 0 && over !== chosen) choose(over);
});
close.addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Opens the dialog with what was `typed` so far; what had the focus has it again afterwards. */
export function openSearch(typed = "") {
  if (dialog.open) return;
  dialog.showModal();
  if (typed) field.value = typed;
  else field.select();
  if (!index) load();
  else if (typed) showResults();
}
