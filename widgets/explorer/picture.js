// The chosen head as the text of an SVG, to be saved.

import {chance, shown} from "../lib/ground-words.js";
import {themeColors} from "../lib/surroundings.js";
import {fan, label, lines, places} from "./head.js";
import {rowsOf} from "./overview.js";

const [MARGIN, CELL, HEAD] = [16, 22, 62];

/** {file, svg}: its name and its text. */
export function pictureOf({model: m, state: {as}}) {
  const colors = themeColors();
  const drawing = as === "matrix" ? matrix(m, colors) : arrows(m, colors);
  const [width, height] = [Math.max(drawing.width, 420) + 2 * MARGIN, drawing.height + HEAD + MARGIN];
  const where = m.looks.shown.slice(0, 3).map((i) => `${shown(m.pieces[i])} ${chance(m.row[i])}`).join(", ");
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="${width}" height="${height}" fill="${colors.page}"/>
<text x="${MARGIN}" y="26" fill="${colors.text}" font-weight="700">${escaped(`${m.entry.title}, head ${m.name}`)}</text>
<text x="${MARGIN}" y="45" fill="${colors.muted}">${escaped(`trained · ${shown(m.pieces[m.at])} looks at ${where}`)}</text>
<g transform="translate(${MARGIN} ${HEAD})">${drawing.body}</g></svg>`;
  return {file: `${m.entry.name}-${m.name}-${as}`, svg};
}

function arrows(m, colors) {
  const {pieces, reading: {heads}, head, row, at} = m;
  const place = places(pieces);
  const path = (d, color, opacity, wide) => `<path d="${d}" fill="none" stroke="${color}" opacity="${opacity}" stroke-width="${wide}"/>`;
  const word = (text, x, y, anchor, color) => `<text x="${x}" y="${y}" dy="0.36em" text-anchor="${anchor}" fill="${color}">${escaped(label(text))}</text>`;
  return {
    width: place.width, height: place.height, body: [
      ...lines(heads[head], pieces).filter(({d}) => d).map(({look, d}) => path(d, colors.edge, Math.min(1, look) / 2, 1)),
      ...fan(row, pieces, at).filter(({d}) => d).map(({weight, d}) => path(d, colors.query, Math.max(0.15, weight).toFixed(3), (0.8 + 5 * weight).toFixed(2))),
      ...pieces.map((piece, i) => word(piece, place.left - 6, place.y(i), "end", i === at ? colors.query : colors.text)),
      ...pieces.map((piece, i) => `<rect x="${place.right}" y="${place.y(i) - place.step / 2 + 1}" width="${place.column}" height="${place.step - 2}" rx="4" fill="${colors.weight}" opacity="${row[i].toFixed(4)}"/>`
        + word(piece, place.right + 6, place.y(i), "start", colors.text))
    ].join("\n")
  };
}

function matrix(m, colors) {
  const {pieces, reading: {heads}, head, at} = m;
  const side = 10 + 7.4 * Math.max(...pieces.map((piece) => label(piece).length));
  const size = CELL * pieces.length;
  const cells = rowsOf(heads[head], pieces.length).flatMap((row, i) => Array.from(row, (weight, j) => (weight < 0.0005 ? ""
    : `<rect x="${side + CELL * j}" y="${side + CELL * i}" width="${CELL}" height="${CELL}" fill="${colors.weight}" opacity="${weight.toFixed(4)}"/>`)));
  const words = pieces.flatMap((piece, i) => [
    `<text x="${side - 6}" y="${side + CELL * (i + 0.5)}" dy="0.36em" text-anchor="end" fill="${i === at ? colors.query : colors.text}">${escaped(label(piece))}</text>`,
    `<text transform="translate(${side + CELL * (i + 0.5)} ${side - 6}) rotate(-90)" dy="0.36em" fill="${colors.text}">${escaped(label(piece))}</text>`
  ]);
  return {
    width: side + size, height: side + size,
    body: [...cells, ...words, `<rect x="${side}" y="${side}" width="${size}" height="${size}" fill="none" stroke="${colors.edge}"/>`].filter(Boolean).join("\n")
  };
}

/** Text within markup. */
const escaped = (text) => String(text).replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`)
  .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
