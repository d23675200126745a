"""The APIs whose wire is recorded, by name: all that there are."""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

from onrecord.adapters.capture.wire import Wire
from onrecord.projections.api import FOLDERS

_NAMES: Final = {"anthropic": "anthropic_messages", "bedrock": "bedrock_converse"}


def _wire(folder: str) -> Wire:
    module = _NAMES.get(folder, folder)
    return cast("Wire", import_module(f"onrecord.adapters.capture.{module}").WIRE)


WIRES: Final[dict[str, Wire]] = {name: _wire(folder) for name, folder in FOLDERS.items()}
