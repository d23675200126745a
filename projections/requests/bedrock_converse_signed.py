"""Reasoning in a request to Bedrock: it goes back only where it was made (B10).

Anthropic's models check it as they do elsewhere (docs.aws.amazon.com, "Thinking block binding"):
system, tools and all messages before it are what they were, for the same model and account. What no
model signed (DeepSeek, gpt-oss) is read by none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import Prefix
from onrecord.projections.history import Block
from onrecord.projections.neutral_bedrock import held, kind_of
from onrecord.projections.requests.anthropic_draft import Message, Piece
from onrecord.projections.requests.bedrock_converse_draft import Draft
from onrecord.projections.requests.bedrock_converse_models import model_of
from onrecord.projections.responses import Response

REASONING = "reasoningContent"


def refused_reasoning(draft: Draft, messages: Sequence[Message]) -> set[int]:
    """Return the identities of those values in the messages that would be refused."""
    checked = _Signed(draft)
    for message in messages:
        checked.take(message)
    return checked.refused


class _Signed:
    """The prefix of what is about to be sent, as far as the messages were looked at."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._prefix = Prefix(_system(draft.system), draft.tools)
        # Whether reasoning was left out before: then an unknown prefix is not this one.
        self._is_broken = False
        self.refused: set[int] = set()

    def take(self, message: Message) -> None:
        """Look at the next message."""
        if message.role != "assistant":
            self._prefix.add(message.role, message.content)
            return
        for _, group in groupby(message.pieces, lambda piece: piece.block.response):
            pieces = list(group)
            if any(map(_is_reasoning, pieces)):
                self._check(pieces)
            self._prefix.add("assistant", list(self._kept(pieces)))

    def _kept(self, pieces: Iterable[Piece]) -> Iterator[JsonObject]:
        return (piece.value for piece in pieces if id(piece.value) not in self.refused)

    def _check(self, pieces: list[Piece]) -> None:
        thoughts = list(filter(_is_reasoning, pieces))
        objection = self._objection(pieces[0].block)
        for piece in thoughts:
            rule, why = objection or ("B10", "no model has signed the reasoning")
            if objection is None and _is_signed(piece.value):
                continue
            self._is_broken = True
            self.refused.add(id(piece.value))
            self._draft.leave_out(rule, piece.block, why)

    def _objection(self, block: Block) -> tuple[str, str] | None:
        """Return the rule by which a response's reasoning stays away, and why; None: it goes."""
        options = self._draft.options
        if options.thinking == "drop":
            return "thinking", "reasoning is dropped, as asked"
        if block.response is None:
            return "B10", "the reasoning is of no recorded response"
        response = self._draft.history.responses.of(block.response, block.asked)
        if (other := self._other_reader(response)) is not None:
            return "B10", other
        bound = response.sent.prefix if response.sent else None
        if bound is None:
            why = "reasoning before it was left out"
            return ("B10", why) if self._is_broken else None
        if bound != self._prefix.digest():
            return "B10", "what stands before it is not what it was made under"
        return None

    def _other_reader(self, response: Response) -> str | None:
        models = {model_of(name).name for name in response.models}
        reader, options = self._draft.model.name, self._draft.options
        if reader and models and reader not in models:
            return "the reasoning is another model's"
        account = response.sent.account if response.sent else None
        if options.account and account and options.account != account:
            return "the reasoning was made for another account"
        return None


def _is_reasoning(piece: Piece) -> bool:
    return kind_of(piece.value) == REASONING


def _is_signed(value: JsonObject) -> bool:
    """Whether a model can tell that the reasoning is its own."""
    match held(value):
        case {"reasoningText": {"signature": str(signature)}}:
            return signature != ""
        case {"redactedContent": str(data)}:
            return data != ""
        case _:
            return False


def _system(blocks: list[JsonObject]) -> str | JsonObject | None:
    """Return instructions as they are digested when they are recorded."""
    match blocks:
        case []:
            return None
        case [{"text": str(text), **more}] if not more:
            return text
        case _:
            return {"system": blocks}
