"""Exports fitted scikit-learn objects as standard ONNX that computes what the objects compute.

`stages.py` has the table of estimators. Each row names a function from columns to columns, or from columns to
a prediction, which adds nodes to a graph in scikit-learn's own order, in its types, with its casts. The
exported file is compared with the object at once.
"""

from .export import Exported, Mismatch, export, exported, refusal_of
from .stages import Unsupported

__all__ = ["Exported", "Mismatch", "Unsupported", "export", "exported", "refusal_of"]
