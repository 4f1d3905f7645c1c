// The part of d3 that pages and widgets use. Every reader loads it: add the names that you use,
// remove unused names, and run `npm run build`. A test looks for names in use but not here.
export {pointer} from "d3-selection";
export {scaleBand, scaleLinear} from "d3-scale";
export {line} from "d3-shape";
