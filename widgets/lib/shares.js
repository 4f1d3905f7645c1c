// A list of tokens, each with a bar and its share.

import {setShare, setText} from "./dom.js";
import {formatPercent} from "./numbers.js";

/** Draw [{token, weight}] into the selection of one <ul class="shares">. */
export function drawShares(list, found, format = formatPercent) {
  const items = list.selectAll("li").data(found).join((enter) => {
    const item = enter.append("li");
    item.append("span").attr("class", "token");
    item.append("span").attr("class", "bar").append("span");
    item.append("span").attr("class", "share");
    return item;
  });
  setText(items.select(".token"), (d) => d.token);
  setShare(items.select(".bar span"), (d) => d.weight);
  setText(items.select(".share"), (d) => format(d.weight));
}
