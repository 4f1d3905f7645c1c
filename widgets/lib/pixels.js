// Numbers as one small picture, a pixel for each, for many pictures beside one another: new numbers
// cost no style and no layout, however many they are.

import {observeTheme} from "./surroundings.js";

/** The base of both: has `rows`, rows of numbers, and `paint()`. */
class Pixels extends HTMLElement {
  /**
   * Subclasses say the colour of each number, by colours that they read.
   * @returns {(number: number) => number[]}
   */
  pixels(_read) {
    throw new Error("a subclass says the colours");
  }
  /** In the next frame, which styles the page anyway: to read a colour before is to do so twice. */
  connectedCallback() {
    this.frame = requestAnimationFrame(() => {
      this.stop = observeTheme((colors) => {
        this.colors = colors;
        this.paint();
      });
    });
  }
  disconnectedCallback() {
    cancelAnimationFrame(this.frame);
    this.stop?.();
  }
  show(rows) {
    this.rows = rows;
    this.paint();
  }
  paint() {
    if (!this.rows || !this.colors) return;
    const canvas =
      this.canvas ?? this.appendChild((this.canvas = document.createElement("canvas")));
    const [height, width] = [this.rows.length, this.rows[0].length];
    // A new size clears the canvas and makes it anew, which takes longer than to paint it.
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const pixel = this.pixels((color) => channels(color, context));
    let at = 0;
    for (const row of this.rows) for (const number of row) image.data.set(pixel(number), 4 * at++);
    context.putImageData(image, 0, 0);
  }
}

const known = new Map(); // colours that were read

/** A colour of the theme as [red, green, blue]. */
function channels(color, context) {
  if (!known.has(color)) {
    context.fillStyle = color; // which reads back as #rrggbb
    known.set(
      color,
      [1, 3, 5].map((at) => parseInt(context.fillStyle.slice(at, at + 2), 16)),
    );
  }
  return known.get(color);
}

/** <weight-pixels>: set `weights`, rows of numbers from 0 to 1, in the colours of `.weighted`. */
class WeightPixels extends Pixels {
  set weights(rows) {
    if (rows !== this.rows) this.show(rows);
  }
  pixels(read) {
    const [none, half, full] = ["weightless", "weightHalf", "weight"].map((name) =>
      read(this.colors[name]),
    );
    return (weight) => {
      const [from, to, share] =
        weight < 0.5 ? [none, half, 2 * weight] : [half, full, 2 * weight - 1];
      return [...from.map((channel, k) => Math.round(channel + share * (to[k] - channel))), 255];
    };
  }
}

/**
 * <number-strip>: set `numbers`, one row: the larger a number, the stronger its colour, the largest
 * having the full one; those below 0 are grey. Before them `tone`, whose colour it is: "query", "key",
 * "value", or by itself the green of half a weight: that of a whole one is so dark that it
 * could be taken for grey.
 */
class NumberStrip extends Pixels {
  constructor() {
    super();
    this.tone = undefined; // which lit sets
  }
  set numbers(numbers) {
    if (numbers !== this.rows?.[0]) this.show([numbers]);
  }
  pixels(read) {
    const [above, below] = [this.colors[this.tone] ?? this.colors.weightHalf, this.colors.edge].map(
      read,
    );
    const most = this.rows[0].reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9);
    return (number) => [
      ...(number < 0 ? below : above),
      Math.round((255 * Math.abs(number)) / most),
    ];
  }
}

customElements.define("weight-pixels", WeightPixels);
customElements.define("number-strip", NumberStrip);
