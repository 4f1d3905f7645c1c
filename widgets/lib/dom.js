// Small things that views share.

/** The child `tag` of a selection of one element, made when it is not there yet. */
export function part(parent, tag, className) {
  const selector = className ? `:scope > ${tag}.${className}` : `:scope > ${tag}`;
  const found = parent.select(selector);
  return found.empty() ? parent.append(tag).attr("class", className ?? null) : found;
}
