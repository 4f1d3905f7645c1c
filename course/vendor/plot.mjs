// Plot weighs more than all the rest: only the widgets that draw with it import this file.

import * as Plot from "@observablehq/plot";

export {Plot};
