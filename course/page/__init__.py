"""What the cells of pages import; most of it by way of ``course`` itself."""
