"""Python cells to outputs, in a fresh kernel."""
