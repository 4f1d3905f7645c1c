/** A text whose first letter is a capital, to begin a sentence with a name. */
export const capitalize = (text) => text[0].toUpperCase() + text.slice(1);
