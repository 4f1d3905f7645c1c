"""A page with its outputs to HTML, and pages to a site: frame, search, files for the web."""
