"""What comes or goes as JSON, as the document describes it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """What comes or goes as JSON: no member is unknown, and the text behind each one describes it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Empty(Model):
    """Nothing is taken."""
