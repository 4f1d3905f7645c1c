// The parts of d3 in use. Add a line when a widget needs more.

export {max, min, range, sum} from "d3-array";
export {drag} from "d3-drag";
export {format} from "d3-format";
export {scaleBand, scaleLinear} from "d3-scale";
export {create, pointer, select, selectAll} from "d3-selection";
