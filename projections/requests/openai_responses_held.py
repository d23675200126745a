"""What the service holds only for a time: containers of code, and items that go by reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import History
from onrecord.projections.requests.openai_responses_draft import Draft, Piece
from onrecord.projections.requests.openai_responses_items import id_of
from onrecord.projections.requests.openai_responses_words import as_words

_IDLE: Final = 20 * 60
"""Seconds after its last use that a container is gone (platform.openai.com, "Code Interpreter")."""

_REFERENCE: Final = "item_reference"


def tell_of_expired_containers(draft: Draft, history: History) -> None:
    """Tell in words what code did whose container is gone (O9).

    "Expected container_id: cntr_...", and so for ever. The time is that of the last event; a
    container's last use is the last response that names it. Where a time is not known it stays.
    """
    used = _last_uses(draft, history)
    kept: list[Piece] = []
    for piece in draft.pieces:
        container = _container_of(piece.value)
        if container is None or not _is_gone(used.get(container), history.as_of):
            kept.append(piece)
            continue
        draft.break_up(piece.block, "the container of its code has expired")
        why = "its container has expired: what the code did goes as words"
        draft.note("translated", "O9", piece.block.version, why)
        if (told := as_words(piece)) is not None:
            kept.append(told)
    draft.pieces = kept


def resolve_references(draft: Draft) -> None:
    """Leave out references to items that stand in the request themselves, and to calls (O11).

    A call that goes by reference does not pair with its output.
    """
    standing = {id_of(piece.value) for piece in draft.pieces if piece.kind != _REFERENCE}
    kept: list[Piece] = []
    for piece in draft.pieces:
        item_id = id_of(piece.value)
        if piece.kind != _REFERENCE:
            kept.append(piece)
        elif item_id is not None and (item_id in standing or item_id.startswith("fc")):
            why = "the item goes itself, not by reference"
            draft.note("left out", "O11", piece.block.version, why)
        else:
            why = "refers to an item that the provider keeps: it may be gone"
            draft.note("noted", "O11", piece.block.version, why)
            kept.append(piece)
    draft.pieces = kept


def _last_uses(draft: Draft, history: History) -> Mapping[str, float]:
    """Return when each container was last used, in seconds since 1970, as far as that is known."""
    uses: dict[str, float] = {}
    for piece in draft.pieces:
        container, block = _container_of(piece.value), piece.block
        if container is None or block.response is None:
            continue
        closing = history.responses.of(block.response, block.asked).closing
        envelope = closing.envelope if closing else {}
        moment: Any = envelope.get("completed_at") or envelope.get("created_at")
        if isinstance(moment, int | float):
            uses[container] = max(moment, uses.get(container, 0))
    return uses


def _container_of(value: JsonObject) -> str | None:
    """Return the container that an item's code ran in, if it names one."""
    if value.get("type") != "code_interpreter_call":
        return None
    container: Any = value.get("container_id")
    return container if isinstance(container, str) else None


def _is_gone(used: float | None, as_of: int | None) -> bool:
    return used is not None and as_of is not None and used + _IDLE < as_of / 1_000_000
