// The index of the site's search: no DOM, so that a test can ask it without a browser.
import {MiniSearch} from "../vendor/minisearch.js";

const FIRST = {term: 4, function: 3}; // a glossary term or a function comes before where it is used
const EXACT = 20; // what is called exactly what was typed
const AROUND = 75; // letters of an excerpt on each side of the first word that was found

// "LatentAttention.forward" is found as a whole and by its parts, and "heads" as "head".
const words = (text) => {
  const whole = text.match(/[\p{L}\p{N}_.]*[\p{L}\p{N}]/gu) ?? [];
  return whole
    .flatMap((word) => {
      const parts = word.split(/[_.]+|(?<=\p{Ll})(?=\p{Lu})/u).filter(Boolean);
      return parts.length > 1 ? [word, ...parts] : [word];
    })
    .map((word) => word.toLowerCase());
};
const stem = (word) => (word.length > 3 && /[^su]s$/.test(word) ? word.slice(0, -1) : word);

const OPTIONS = {
  fields: ["title", "keys", "page", "text"],
  tokenize: words,
  processTerm: stem,
  searchOptions: {
    boost: {title: 6, keys: 4, page: 1.5},
    prefix: (term, i, terms) => i === terms.length - 1 && term.length > 1,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    weights: {prefix: 0.5, fuzzy: 0.2},
    boostDocument: (_id, _term, stored) => FIRST[stored?.kind] ?? 1,
  },
  storeFields: ["kind"],
};

/** From names.json to documents: [{id, address, page, title, kind, keys, text}]. */
export function documents(names) {
  return names
    .flatMap(([address, rows]) =>
      rows.map(([anchor, title, kind, about, keys]) => ({
        address: anchor ? `${address}#${anchor}` : address,
        page: anchor ? rows[0][1] : "",
        title,
        kind,
        keys,
        text: about,
      })),
    )
    .map((one, id) => ({id, ...one}));
}

/** An index of `docs`: {find(query, most) → [{…document, terms}]}. */
export function indexOf(docs) {
  const index = new MiniSearch(OPTIONS);
  index.addAll(docs);
  return {find: (query, most = 10) => find(index, docs, query, most)};
}

function find(index, docs, query, most) {
  const asked = words(query).map(stem).join(" ");
  if (!asked) return [];
  const count = new Set(asked.split(" ")).size;
  // What has all that was typed comes long before what has a part of it.
  const score = ({id, score, queryTerms}) =>
    score * (queryTerms.length / count) ** 3 * (isCalled(docs[id], asked) ? EXACT : 1);
  return index
    .search(query)
    .map((one) => ({...docs[one.id], score: score(one), terms: Object.keys(one.match)}))
    .sort((a, b) => b.score - a.score)
    .slice(0, most);
}

const isCalled = ({kind, title, keys}, asked) =>
  [title, kind === "term" ? keys : ""].some((name) => words(name).map(stem).join(" ") === asked);

/** The text around the first of `terms`, as pieces: [{text, marked}]. */
export function excerpt(text, terms) {
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${terms.map(escaped).join("|") || "(?!)"})\\p{L}*`,
    "giu",
  );
  const first = Math.max(0, text.search(pattern));
  const [start, end] = [
    first > AROUND ? text.indexOf(" ", first - AROUND) + 1 : 0,
    first + 2 * AROUND,
  ];
  const shown = text.slice(
    start,
    end < text.length ? Math.max(text.lastIndexOf(" ", end), first) : undefined,
  );
  const pieces = start ? [{text: "… ", marked: false}] : [];
  let at = 0;
  for (const match of shown.matchAll(pattern)) {
    pieces.push(
      {text: shown.slice(at, match.index), marked: false},
      {text: match[0], marked: true},
    );
    at = match.index + match[0].length;
  }
  pieces.push({text: shown.slice(at) + (end < text.length ? " …" : ""), marked: false});
  return pieces.filter((piece) => piece.text);
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
