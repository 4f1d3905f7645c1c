"""OJS cells to JavaScript, without a JavaScript engine."""
