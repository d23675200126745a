"""`onrecord fork`, `regenerate`, `edit`, `compact`, `redact`: what the history is from here on."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import named
from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.store import Store
from onrecord.domain.errors import ConversationForgotten


def fork(
    store: Store, key: str, new_key: str, *, at: int | None, reason: str | None, as_json: bool
) -> None:
    """Begin a conversation that goes on from another one."""
    talk = _talk(store, key)
    version = talk.head().version if at is None else at
    forked = talk.fork(new_key, at=at, reason=reason)
    _say(forked, f"{forked.key} goes on from {talk.key} at version {version}.", as_json=as_json)


def regenerate(store: Store, key: str, *, as_json: bool) -> None:
    """Give up the last answer."""
    talk = _talk(store, key)
    talk.regenerate()
    _say(talk, "The last answer is given up: the next request asks again.", as_json=as_json)


def edit(
    store: Store, key: str, version: int, text: str, documents: Iterable[Path], *, as_json: bool
) -> None:
    """Put another prompt in the place of the one at a version."""
    talk = _talk(store, key)
    talk.edit(version, _text(text), documents=documents)
    _say(talk, f"The prompt at version {version} and what followed is given up.", as_json=as_json)


def compact(store: Store, key: str, summary: str, *, until: int | None, as_json: bool) -> None:
    """Let a summary stand for the beginning."""
    talk = _talk(store, key)
    done = talk.compact(_text(summary), until=until)
    _say(talk, f"The summary counts; redact version {done.last} to undo it.", as_json=as_json)


def redact(store: Store, key: str, version: int, *, reason: str | None, as_json: bool) -> None:
    """Leave an event out of every request."""
    talk = _talk(store, key)
    talk.redact(version, reason)
    _say(talk, f"Version {version} is left out of every request from here on.", as_json=as_json)


def _talk(store: Store, key: str) -> Talk:
    found = named(store, key)
    if found.key is None:
        raise ConversationForgotten
    return store.conversation(found.key)


def _text(given: str) -> str:
    """Return a text that was given, or standard input for `-`."""
    return sys.stdin.read() if given == "-" else given


def _say(talk: Talk, sentence: str, *, as_json: bool) -> None:
    if not as_json:
        output.sentence(output.flat(sentence))
        return
    identified = {"key": talk.key, "conversation": str(talk.conversation_id)}
    output.json_line({**identified, "version": talk.head().version})
