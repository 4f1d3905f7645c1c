// What the parts of a model are called: its heads, their vectors, the stages of its play. No DOM.

export const PARTS = ["query", "key", "value", "output"]; // of a head

/** Of the play of the forward pass. */
export const STAGES = [
  "Words",
  "Vectors",
  "Queries, keys, values",
  "Scores",
  "Mask",
  "Weights",
  "Mix",
  "MLP",
  "Stream",
  "Guess",
];

/** Heads by name, "4.3", as pairs [3, 2]; those that the model lacks are left out. */
export const pairs = (names, {counts}) =>
  names
    .map((name) => name.split(".").map((part) => part - 1))
    .filter(([layer, head]) => head < (counts[layer] ?? 0));

export const nameOf = ({layer, head}) => `${layer + 1}.${head + 1}`;
