// Replaces @observablehq/stdlib, which @observablehq/runtime imports as a default.
export class Library {}
export const FileAttachments = undefined;
