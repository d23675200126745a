"""The storage for AG2 (docs/frameworks-ag2.md)."""

from onrecord.adapters.frameworks.ag2 import OnrecordStorage

__all__ = ["OnrecordStorage"]
