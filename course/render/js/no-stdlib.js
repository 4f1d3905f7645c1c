// Stands in for @observablehq/stdlib where @observablehq/runtime names it as a default.
export class Library {}
export const FileAttachments = undefined;
