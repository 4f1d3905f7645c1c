"""The small models that the course trains, and what they share."""
