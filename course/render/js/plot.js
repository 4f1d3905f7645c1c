// assets/vendor/plot.js: apart from the rest, because Plot weighs more than all of it.
import * as Plot from "@observablehq/plot";

export {Plot};
