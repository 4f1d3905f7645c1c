// The byte-level BPE of models/storyteller/tokens.py: any text as tokens. Nothing here needs a page.
// Inside, text is UTF-8, each byte written as the character of its number.

const PLAIN = {"‘": "'", "’": "'", "“": '"', "”": '"', "—": "--", "…": "...", "\u00a0": " "};
const PIECES =
  /'(?:s|t|re|ve|ll|d|m)(?![A-Za-z])| ?[A-Za-z\x80-\xff]+| ?[0-9]| ?[^A-Za-z0-9\x80-\xff \t\n\r]+|[ \t\n\r]+(?![^ \t\n\r])|[ \t\n\r]+/g;
// Of bytes beyond ASCII: a character, or as much of the beginning of one as there is.
const CHARACTERS = new RegExp(
  [
    /[\xc2-\xdf][\x80-\xbf]?/,
    /\xe0(?:[\xa0-\xbf][\x80-\xbf]?)?/,
    /\xed(?:[\x80-\x9f][\x80-\xbf]?)?/,
    /[\xe1-\xef](?:[\x80-\xbf]{1,2})?/,
    /\xf0(?:[\x90-\xbf][\x80-\xbf]{0,2})?/,
    /[\xf1-\xf3][\x80-\xbf]{0,3}/,
    /\xf4(?:[\x80-\x8f][\x80-\xbf]{0,2})?/,
    /[\x80-\xff]/,
  ]
    .map(({source}) => source)
    .join("|"),
  "g",
);
const UNFINISHED = /(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})$/;
const KNOWN = 10000; // pieces whose tokens are kept, so that a long visit doesn't fill the memory

/**
 * {encode(text): tokens, decode(tokens): text, name(token): text, pieces(tokens): texts}. Half a
 * character is decoded as U+FFFD; in names each of its bytes is U+EE00 + byte, which no writing
 * uses, so that they can be told apart. Of the pieces, each token's part
 * of the text, a character stands at its last token; the tokens before have their names.
 */
export function tokenizer(vocabulary) {
  const ids = new Map(vocabulary.map((token, id) => [token, id]));
  const known = new Map();

  function encode(text) {
    const tokens = [];
    for (const piece of toBytes(text).match(PIECES) ?? [])
      for (const token of read(piece)) tokens.push(token);
    return tokens;
  }

  function read(piece) {
    if (!known.has(piece)) {
      if (known.size >= KNOWN) known.clear();
      known.set(piece, split(piece));
    }
    return known.get(piece);
  }

  /** Of all neighbours, those join first whose join was learned first. */
  function split(piece) {
    let parts = [...piece];
    for (;;) {
      let best = Infinity;
      for (let i = 1; i < parts.length; i += 1)
        best = Math.min(best, ids.get(parts[i - 1] + parts[i]) ?? Infinity);
      if (best === Infinity) return parts.map((part) => ids.get(part));
      parts = join(parts, vocabulary[best]);
    }
  }

  const decode = (tokens) => fromBytes(Array.from(tokens, (token) => vocabulary[token]).join(""));
  const name = (token) => fromBytes(vocabulary[token], escaped);

  function pieces(tokens) {
    let held = "";
    return tokens.map((token, i) => {
      held += vocabulary[token];
      if (UNFINISHED.test(held) && i < tokens.length - 1) return name(token);
      const text = fromBytes(held, escaped);
      held = "";
      return text;
    });
  }

  return {encode, decode, name, pieces};
}

function join(parts, both) {
  const joined = [];
  for (let i = 0; i < parts.length; i += 1) {
    const makes = i + 1 < parts.length && parts[i] + parts[i + 1] === both;
    joined.push(makes ? both : parts[i]);
    if (makes) i += 1;
  }
  return joined;
}

function toBytes(text) {
  const plain = String(text).replace(/[‘’“”—…\u00a0]/g, (mark) => PLAIN[mark]);
  // Half of a surrogate pair is no character, and becomes U+FFFD.
  const whole = plain.replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (c) =>
    c.length === 2 ? c : "\ufffd",
  );
  return encodeURIComponent(whole).replace(/%(..)/g, (_, hex) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
}

const escaped = (part) =>
  part.replace(/./gs, (byte) => String.fromCharCode(0xee00 + byte.charCodeAt(0)));

function fromBytes(bytes, half = () => "\ufffd") {
  return bytes.replace(CHARACTERS, (part) => {
    try {
      return decodeURIComponent(
        Array.from(part, (byte) => `%${byte.charCodeAt(0).toString(16)}`).join(""),
      );
    } catch {
      return half(part);
    }
  });
}
