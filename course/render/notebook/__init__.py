"""Write each lesson as a Jupyter notebook beside its page, from the same source and outputs."""
