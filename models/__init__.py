"""The small models that the course trains, and the code that they share."""
