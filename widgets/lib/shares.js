// A list of tokens, each with a bar and its share.

import {html} from "../../assets/vendor/lit.js";
import {formatPercent} from "./numbers.js";

/** CSS that fills a mark to a share, 0 to 1, of its width. */
export const filled = (share) => `transform:scaleX(${+share.toFixed(5)})`;

/** [{token, weight, className?}] as a <ul>. */
export const shareList = (
  rows,
  {format = formatPercent, label = ""} = {},
) => html`<ul class="shares" aria-label=${label}>
  ${rows.map(
    ({
      token,
      weight,
      className = "",
    }) => html`<li class=${className}><span class="token">${token}</span>
    <span class="bar"><span style=${filled(weight)}></span></span><span class="share">${format(weight)}</span></li>`,
  )}</ul>`;
