"""An answer that the service broke off and goes on with by a token.

"Token generation was stopped because the response reached the per-request token limit, but
generation is not yet complete. The model response can be continued via a subsequent request using
the returned `continuation_token`" (google-genai, FinishReason). That request is the earlier one with
the token: what the answer said so far is not sent (google-genai, generate_content).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.projections.history import Block, History
from onrecord.projections.neutral_gemini import API
from onrecord.projections.neutral_gemini_parts import member, objects_in
from onrecord.projections.requests.gemini_draft import Draft

_GOES_ON: Final = (None, "CONTINUATION")


class Continuation(NamedTuple):
    """The token by which the service goes on, and the answers that it has said so far."""

    token: str
    responses: frozenset[str]


def continuation_of(draft: Draft) -> Continuation | None:
    """Return how the last answer goes on; None where it does not, or something was said since.

    A token is for the model and the account that it was given to, as signatures are: others get
    what the answer said so far.
    """
    history = draft.history
    token = _token(history.responses.last().closing)
    last = history.turns[-1] if history.turns else None
    if token is None or last is None or last.role != "assistant":
        return None
    if draft.objection(last.blocks[-1]) is not None:
        return None
    responses: set[str] = set()
    for block in reversed(last.blocks):
        if not _is_broken_off(history, block):
            break
        responses.add(block.response or "")
    return Continuation(token, frozenset(responses)) if responses else None


def _is_broken_off(history: History, block: Block) -> bool:
    if block.response is None:
        return False
    return _token(history.responses.of(block.response, block.asked).closing) is not None


def _token(closing: ResponseCompleted | ResponseInterrupted | None) -> str | None:
    """Return the token of an answer that is to be gone on with."""
    if closing is None or closing.api != API:
        return None
    candidates = objects_in(closing.envelope.get("candidates"))
    if not candidates or member(candidates[0], "finishReason") not in _GOES_ON:
        return None
    token: Any = member(candidates[0], "continuationToken")
    return token if isinstance(token, str) and token else None
