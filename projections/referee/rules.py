"""The rules of each API whose requests can be checked."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Final, cast

from onrecord.projections.apis import MODULES
from onrecord.projections.referee.violation import Rule


def _rules(module: str) -> tuple[Rule, ...] | None:
    name = f"onrecord.projections.referee.{module}"
    return cast("tuple[Rule, ...]", import_module(name).RULES) if find_spec(name) else None


RULES: Final = {
    name: rules for name, module in MODULES.items() if (rules := _rules(module)) is not None
}
"""Name of an API to its rules, in the order in which they are told."""
