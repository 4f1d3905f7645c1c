// What lessons call d3, Inputs, md and htl, without the network that Quarto's own would need.

import * as Inputs from "@observablehq/inputs";
import * as htl from "htl";
import * as d3 from "./d3.mjs";
import {md} from "./md.mjs";

export {d3, Inputs, htl, md};
