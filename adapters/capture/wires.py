"""The APIs whose wire is recorded, by name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final, cast

from hansard.adapters.capture.wire import Wire
from hansard.projections.apis import MODULES


def _wire(module: str) -> Wire | None:
    name = f"hansard.adapters.capture.{module}"
    return cast("Wire", import_module(name).WIRE) if find_spec(name) else None


WIRES: Final[dict[str, Wire]] = {
    name: wire for name, module in MODULES.items() if (wire := _wire(module)) is not None
}
