"""The whole site by Quarto, and what is added to its pages."""
