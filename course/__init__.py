"""The course: its site, its checks and what its lessons import."""
