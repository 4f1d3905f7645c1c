// assets/vendor/lit.js: the part of lit-html that widgets use. It writes text as text, and changes in
// place only what differs from the last drawing.
export {html, nothing, render, svg} from "lit-html";
export {live} from "lit-html/directives/live.js";
