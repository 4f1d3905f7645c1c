// assets/vendor/observable.js: the libraries that Quarto would fetch from a public CDN.
import * as d3 from "./d3.js";
import * as Inputs from "@observablehq/inputs";
import * as htl from "htl";
import {md} from "./md.js";

// Quarto's own html and svg insert ${…} as markup; these insert it as text.
export const {html, svg} = htl;
export {d3, Inputs, htl, md};
