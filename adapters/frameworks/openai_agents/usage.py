"""What the turns of a session cost in tokens: state of a branch, by the item that a turn begins with.

A turn that was popped takes its usage along. Another turn of the same number has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from onrecord.adapters.frameworks.openai_agents.branches import Branch
from onrecord.adapters.inputs.arguments import kind_of
from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.openai_turns import turns_of

_COUNTS: Final = ("requests", "input_tokens", "output_tokens", "total_tokens")
_DETAILS: Final = ("input_tokens_details", "output_tokens_details")


def usage_name(begin: int) -> str:
    """Return the name under which a branch keeps the usage of the turn that begins at a version."""
    return f"usage:{begin}"


def run_usage(result: object) -> JsonObject:
    """Return the usage of a run as it is recorded: `{"requests": 1, "input_tokens": 9, ...}`.

    InvalidInput for what is no result of a run.
    """
    usage = getattr(getattr(result, "context_wrapper", None), "usage", None)
    if not all(hasattr(usage, name) for name in _COUNTS):
        raise InvalidInput(
            f"the usage of a run is in what Runner.run gives, not in {kind_of(result)}"
        )
    counts = {name: getattr(usage, name) or 0 for name in _COUNTS}
    return counts | {name: _details(getattr(usage, name, None)) for name in _DETAILS}


def turn_usages(branch: Branch) -> list[tuple[int, JsonObject]]:
    """Return the numbers of the turns whose usage a branch keeps, and that."""
    found = (
        (turn, branch.state.get(usage_name(turn.first.version))) for turn in turns_of(branch.items)
    )
    return [
        (turn.number, cast("JsonObject", value)) for turn, value in found if isinstance(value, dict)
    ]


def usage_sum(branches: Iterable[Branch]) -> dict[str, int] | None:
    """Return the sums over all turns of branches; None where no usage is kept."""
    usages = [usage for branch in branches for _, usage in turn_usages(branch)]
    if not usages:
        return None
    sums = {name: sum(int(usage[name]) for usage in usages) for name in _COUNTS}
    return {**sums, "total_turns": len(usages)}


def _details(details: Any) -> JsonObject | None:
    return None if details is None else cast("JsonObject", details.model_dump(mode="json"))
