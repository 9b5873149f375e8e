"""Exports fitted scikit-learn objects as standard ONNX that computes what the objects compute.

`stages.py` has the table of estimators. Each row names a function from columns to columns, or from columns to
a prediction. The function adds nodes to a graph, with scikit-learn's order of operations, types and casts.
The exported file is then compared with the object.
"""

from ..findings import Unsupported
from .export import Exported, Mismatch, export, exported, refusal_of

__all__ = ["Exported", "Mismatch", "Unsupported", "export", "exported", "refusal_of"]
