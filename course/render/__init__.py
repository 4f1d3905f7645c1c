"""The embedded engine: Quarto's own sources in, the same pages out, through Pandoc and Jupyter."""
