// The sentence with its arcs as the text of an SVG, to be saved or sent.

import {arc} from "../lib/arcs.js";
import {chance} from "../lib/numbers.js";
import {themeColors} from "../lib/surroundings.js";
import {guessed} from "./token-view.js";
import {arcsOf} from "./sentence.js";
import {tokenText} from "../lib/token-text.js";

const [MARGIN, WIDTH, SIZE, LINE, ROOM, HEAD] = [24, 900, 24, 74, 130, 58]; // px
const FONT = "'Course Text', system-ui, sans-serif";
const LETTER = 0.55; // of the size, where no canvas measures

/** {file, svg}: its name and its text. */
export function pictureOf({model: m}) {
  const colors = themeColors();
  const boxes = placed(m.pieces.map(tokenText), m.pieces);
  const height = HEAD + ROOM + boxes[boxes.length - 1].line * LINE + 2 * SIZE + 3 * MARGIN;
  const arcs = arcsOf(m.reading, m.at, m.isAll ? null : [m.head]);
  const words = boxes.map(
    ({x, y, text}, i) =>
      `<text x="${x.toFixed(1)}" y="${y}" text-anchor="middle" fill="${i === m.at ? colors.query : m.entry.causal && i > m.at ? colors.muted : colors.text}">${escaped(text)}</text>`,
  );
  const room = boxes[m.at].line ? LINE - SIZE - 8 : ROOM;
  const dashes = m.arcs.isOff ? ` stroke-dasharray="5 8"` : "";
  const paths = arcs.map(({head, to, weight}) => {
    const way = arc(boxes[m.at], boxes[to], room, m.isAll ? 3 * head : 0);
    const opacity = Math.max(0.15, weight).toFixed(3);
    const thickness = ((m.isAll ? 0.8 : 1) * (0.8 + 5 * weight)).toFixed(2);
    return `<path d="${way}" fill="none" stroke="url(#way)" stroke-linecap="round" opacity="${opacity}"${dashes} stroke-width="${thickness}"/>`;
  });
  const told = m.guesses
    .slice(0, 3)
    .map(({text, share}) => `${guessed(text, m)} ${chance(share)}`)
    .join(", ");
  const what = `${m.isAll ? `All ${m.reading.heads.length} heads` : `Head ${m.name}${m.arcs.isOff ? ", off, had looked" : ""}`} from ${tokenText(m.pieces[m.at])} · trained · ${m.entry.title}`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="${FONT}" font-size="${SIZE}">
<defs><linearGradient id="way"><stop stop-color="${colors.key}"/><stop offset="1" stop-color="${colors.query}"/></linearGradient></defs>
<rect width="${WIDTH}" height="${height}" fill="${colors.page}"/>
<text x="${MARGIN}" y="34" font-size="15" fill="${colors.muted}">${escaped(what)}</text>
<g transform="translate(0 ${HEAD})">${paths.join("\n")}
${words.join("\n")}</g>
<text x="${MARGIN}" y="${height - MARGIN}" font-size="17" fill="${colors.text}">${escaped(`${m.entry.causal ? "Next" : "There"}: ${told}`)}</text></svg>`;
  return {file: `${m.entry.name}-${m.isAll ? "all-heads" : m.name}`, svg};
}

/** Where each token stands: {text, x: its middle, y, top, bottom, line}. */
function placed(texts, pieces) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${SIZE}px ${FONT}`;
  const width = (text) => context.measureText(text)?.width ?? SIZE * LETTER * text.length;
  let [x, line] = [MARGIN, 0];
  return texts.map((text, i) => {
    const wide = Math.max(6, width(text));
    if (i && !/^[\p{L}\p{N}]/u.test(pieces[i])) x += 8;
    if (x + wide > WIDTH - MARGIN) [x, line] = [MARGIN, line + 1];
    const y = ROOM + line * LINE + SIZE;
    x += wide;
    return {text, x: x - wide / 2, y, top: y - SIZE, bottom: y + 8, line};
  });
}

/** Text within markup. */
const escaped = (text) =>
  String(text)
    .replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
