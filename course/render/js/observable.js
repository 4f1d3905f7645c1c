// assets/vendor/observable.js: what Quarto would fetch from a public CDN under these names.
import * as d3 from "./d3.js"; // stays a file of its own, which widgets import too
import * as htl from "htl";
import {md} from "./md.js";

// Quarto's own html and svg take what is put in with ${…} for markup; these take it for text.
export const {html, svg} = htl;
export {d3, htl, md};
