"""Objects to problems: what is wrong in the sources, by file and line."""
