"""OJS cells to JavaScript."""
