"""`onrecord fork`, `retract-answer`, `edit-message`, `compact`, `redact`: they change what the history is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from onrecord.adapters.cli.program.options import AsJson, At, Key, Url, existing_file
from onrecord.adapters.cli.program.stores import open_store
from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output

Reason = Annotated[str | None, typer.Option(help="The reason, in words.")]
Version = Annotated[int, typer.Argument(min=1, help="The version of the event.")]


def fork(
    context: typer.Context,
    key: Key,
    new_key: Annotated[str, typer.Argument(help="The key of the fork.")],
    at: At = None,
    reason: Reason = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Start a conversation that continues another one; nothing is copied.

    Example: `onrecord fork support/4711 support/4711/tried-otherwise --at 17`
    """
    with open_store(context, url) as store:
        conversation = _conversation(store, key)
        version = conversation.head().version if at is None else at
        forked = conversation.fork(new_key, at=at, reason=reason)
        _report(
            forked, f"{forked.key} goes on from {conversation.key} at version {version}.", as_json
        )


def retract_answer(
    context: typer.Context, key: Key, url: Url = None, as_json: AsJson = False
) -> None:
    """Give up the last answer: the next request is the same as before, byte for byte.

    Everything after the last prompt, or after the last results of tools, is given up.
    `onrecord show --lines` still shows it.

    Example: `onrecord retract-answer support/4711`
    """
    with open_store(context, url) as store:
        conversation = _conversation(store, key)
        conversation.retract_answer()
        _report(conversation, "The last answer is given up: the next request asks again.", as_json)


def edit_message(
    context: typer.Context,
    key: Key,
    version: Version,
    text: Annotated[str, typer.Argument(help="The new prompt; `-`: standard input.")],
    document: Annotated[
        list[Path] | None, typer.Option(help="A file that comes with it; may be repeated.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Replace a prompt; what followed it leaves the history and stays in the record.

    Example: `onrecord edit-message support/4711 12 "Can it come on Saturday?"`
    """
    documents = [existing_file(path) for path in document or ()]
    with open_store(context, url) as store:
        conversation = _conversation(store, key)
        conversation.edit_message(version, _text(text), documents=documents)
        done = f"The prompt at version {version} and what followed is given up."
        _report(conversation, done, as_json)


def compact(
    context: typer.Context,
    key: Key,
    summary: Annotated[str, typer.Argument(help="Your summary; `-`: standard input.")],
    until: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="VERSION",
            help="The last version that it stands for.",
            show_default="the end of the exchanges that are over",
        ),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Replace the history by your own summary, in every later request.

    Redact it to have everything back.

    Example: `onrecord compact support/4711 "The parcel is late." --until 17`
    """
    with open_store(context, url) as store:
        conversation = _conversation(store, key)
        done = conversation.compact(_text(summary), until=until)
        _report(
            conversation, f"The summary counts; redact version {done.last} to undo it.", as_json
        )


def redact(
    context: typer.Context,
    key: Key,
    version: Version,
    reason: Reason = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Leave an event out of every later request; the record keeps it.

    `onrecord forget` erases what was said.

    Example: `onrecord redact support/4711 12`
    """
    with open_store(context, url) as store:
        conversation = _conversation(store, key)
        conversation.redact(version, reason)
        _report(
            conversation, f"Version {version} is left out of every request from here on.", as_json
        )


def _conversation(store: Store, key: str) -> Conversation:
    return store.conversation(require_conversation(store, key).require_key())


def _text(argument: str) -> str:
    """Return a text that was given, or standard input for `-`."""
    return sys.stdin.read() if argument == "-" else argument


def _report(conversation: Conversation, sentence: str, as_json: bool) -> None:
    if not as_json:
        output.sentence(flat(sentence))
        return
    output.json_line(state_document(conversation))


def state_document(conversation: Conversation) -> dict[str, object]:
    """Return which conversation was changed, and the version that it is at, as JSON says it."""
    identified = {"key": conversation.key, "conversation": str(conversation.conversation_id)}
    return {**identified, "version": conversation.head().version}
