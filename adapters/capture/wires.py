"""The APIs whose wire is recorded, by name: all that there are."""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

from onrecord.adapters.capture.wire import Wire
from onrecord.projections.apis import MODULES


def _wire(module: str) -> Wire:
    return cast("Wire", import_module(f"onrecord.adapters.capture.{module}").WIRE)


WIRES: Final[dict[str, Wire]] = {name: _wire(module) for name, module in MODULES.items()}
