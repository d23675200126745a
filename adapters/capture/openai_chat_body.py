"""The answers of OpenAI's Chat Completions API, read from the bytes of a JSON body."""

from __future__ import annotations

from typing import Any, cast

from onrecord.adapters.capture.answer import Anomaly, Answer, Loss
from onrecord.adapters.capture.failures import error_kind
from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.openai_chat_choices import API, Choice, completed
from onrecord.adapters.capture.openai_chat_merging import says
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so. Gateways
    answer with an `error` under status 200 too.
    """
    try:
        completion = read_object(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    choices = completion.get("choices")
    listed = cast("list[Any]", choices) if isinstance(choices, list) else []
    read = [choice for choice in map(_choice, listed) if choice is not None]
    answer = Answer(api=API, envelope=_envelope(completion), anomalies=_oddities(read))
    return completed(_ended(answer, completion, len(listed) - len(read)), read)


def _ended(answer: Answer, completion: JsonObject, broken: int) -> Answer:
    error = completion.get("error")
    if says(error):
        return Answer(
            api=API,
            envelope=answer.envelope,
            interruption="error",
            error=error,
            detail=error_kind(error),
        )
    if broken or not says(completion.get("choices")):
        why = f"{broken} of the choices have no message" if broken else "a completion of no choice"
        return Answer(api=API, envelope=answer.envelope, interruption="malformed", detail=why)
    return answer


def _choice(choice: Any) -> Choice | None:
    """Return a choice; None for what is none."""
    if not isinstance(choice, dict):
        return None
    members = cast("JsonObject", choice)
    message = members.get("message")
    if not isinstance(message, dict):
        return None
    return Choice(cast("JsonObject", message), _without(members, "message"))


def _oddities(choices: list[Choice]) -> tuple[Anomaly, ...]:
    silent = any(choice.stop is None for choice in choices)
    return (Anomaly("a choice without a finish reason"),) if silent else ()


def _envelope(completion: JsonObject) -> JsonObject:
    """Return the body without messages, and without an error, which is kept by itself."""
    choices = completion.get("choices")
    error = "error" if says(completion.get("error")) else ""
    envelope = _without(completion, error)
    if isinstance(choices, list):
        envelope["choices"] = [_told(choice) for choice in cast("list[Any]", choices)]
    return envelope


def _told(choice: Any) -> Any:
    return choice if _choice(choice) is None else _without(choice, "message")


def _without(members: JsonObject, name: str) -> JsonObject:
    return {held: value for held, value in members.items() if held != name}
