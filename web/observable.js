// assets/vendor/observable.js: the libraries that Quarto would fetch from a public CDN.
import * as d3 from "./d3.js"; // stays a file of its own, which widgets import too
import * as htl from "htl";
import {md} from "./md.js";

// Quarto's own html and svg insert ${…} as markup; these insert it as text.
export const {html, svg} = htl;
export {d3, htl, md};
