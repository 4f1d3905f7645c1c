"""Files to objects: _quarto.yml, glossary.yml and .qmd pages, each line with its location."""
