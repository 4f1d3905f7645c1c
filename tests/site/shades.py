"""The weights that a map shows, read back from its picture."""

# Every cell of each map of weights, read back from its picture: where its colour lies on the ramp
# from 0 by a half to 1.
SHADES = """async (root) => {
  const {themeColors} = await import("/widgets/lib/surroundings.js");
  const theme = themeColors();
  const ramp = ["weightless", "weightHalf", "weight"]
    .map((name) => theme[name].match(/\\d+/g).slice(0, 3).map(Number));
  const less = (a, b) => a.map((x, k) => x - b[k]);
  const dot = (a, b) => a.reduce((all, x, k) => all + x * b[k], 0);
  const along = (color, from, to) => {
    const share = dot(less(color, from), less(to, from)) / dot(less(to, from), less(to, from));
    const within = Math.max(0, Math.min(1, share));
    const off = less(color, from.map((x, k) => x + within * (to[k] - x)));
    return {share: within, off: dot(off, off)};
  };
  const weight = (color) => {
    const [light, dark] = [along(color, ramp[0], ramp[1]), along(color, ramp[1], ramp[2])];
    return light.off <= dark.off ? light.share / 2 : (1 + dark.share) / 2;
  };
  return [...root.querySelectorAll(".weight-map canvas")].map((canvas) => {
    const {width, height} = canvas;
    const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
    return Array.from({length: height}, (_, y) => Array.from({length: width}, (_, x) =>
      weight([...data.slice(4 * (y * width + x), 4 * (y * width + x) + 3)])));
  });
}"""
SHADE_STEP = 1 / 150  # what a channel rounded to a whole number may hide, where the ramp is short
