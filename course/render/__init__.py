"""The embedded engine: Quarto's own sources in, the same pages out, through Pandoc and Jupyter.

Its stages are folders: read, execute, ojs, write, notebook; quarto renders with Quarto.
"""
