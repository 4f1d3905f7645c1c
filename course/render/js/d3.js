// The part of d3 that pages and widgets use. Every reader loads it: add the names that you use,
// remove unused names, and run `npm run build`. A test looks for names in use but not here.
// (For `.transition()` on selections, add `import "d3-transition"`.)
export {create, pointer, select, selectAll} from "d3-selection";
export {extent, max, min, range, sum} from "d3-array";
export {scaleBand, scaleLinear} from "d3-scale";
export {line} from "d3-shape";
export {format} from "d3-format";
export {interpolateNumber} from "d3-interpolate";
