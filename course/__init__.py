"""The course: its site, its checks and what its lessons import."""

from .to_page import publish, static_form

__all__ = ["publish", "static_form"]
