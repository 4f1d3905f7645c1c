"""What pages publish to widgets that show a trained model: a module for each widget.

Each has a function ``payload``, which returns the one object that the widget reads.
"""

from pathlib import Path

MODELS_FOLDER = Path(__file__).parents[2] / "models"
