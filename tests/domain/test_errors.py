"""An error is the same when it is copied, and when it came from another process."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import pytest

import onrecord
from onrecord import errors
from onrecord.adapters.demo import clients  # It has an error of its own.

MADE: Final[dict[type[errors.OnrecordError], Callable[[], errors.OnrecordError]]] = {
    errors.UnsupportedDocument: lambda: errors.UnsupportedDocument(
        "gemini", "gemini-3", "image", "image/png", ("text",), 3
    ),
    errors.ResultsWithoutConversation: errors.ResultsWithoutConversation,
    errors.UnsupportedTool: lambda: errors.UnsupportedTool("web_search", "ollama", ("gemini",)),
    errors.SecretMissing: lambda: errors.SecretMissing({"/tools/0/authorization": "cut"}),
    errors.InvalidModel: lambda: errors.InvalidModel("no tools", "NO_TOOLS"),
    errors.VersionConflict: lambda: errors.VersionConflict(7, 3),
    errors.RoundOpen: lambda: errors.RoundOpen(("toolu_1", "toolu_2")),
    errors.NotInstalled: lambda: errors.NotInstalled("PostgreSQL", "psycopg", "postgres"),
    errors.UnknownTool: lambda: errors.UnknownTool(("search",), 3),
    errors.ApprovalNotAsked: errors.ApprovalNotAsked,
    errors.AlreadyDecided: lambda: errors.AlreadyDecided("granted"),
    errors.TooManyModelCalls: lambda: errors.TooManyModelCalls(11, 10),
}
"""How those are made that take more than a message."""


def kinds(root: type[errors.OnrecordError]) -> Iterator[type[errors.OnrecordError]]:
    yield root
    for kind in root.__subclasses__():
        if kind.__module__.startswith("onrecord."):
            yield from kinds(kind)


def error_of(kind: type[errors.OnrecordError]) -> errors.OnrecordError:
    return MADE[kind]() if kind in MADE else kind("say what to do")


def pickled(error: errors.OnrecordError) -> object:
    return pickle.loads(pickle.dumps(error))


KINDS: Final = sorted(set(kinds(errors.OnrecordError)), key=lambda kind: kind.__name__)


def test_all_errors_are_looked_at() -> None:
    names = {kind.__name__ for kind in KINDS}
    assert names >= {*errors.__all__, clients.DemoFailed.__name__}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_that_is_copied_or_pickled_is_the_same(
    kind: type[errors.OnrecordError], again: Callable[[errors.OnrecordError], errors.OnrecordError]
) -> None:
    error = error_of(kind)
    error.add_note("while it was tested")
    other = again(error)
    assert type(other) is kind
    assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))
    assert getattr(other, "msg", None) == getattr(error, "msg", None)


def say_too_late(_: object) -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.user("Hello")
    chat.user("Hello again", expected_version=7)


def test_an_error_of_a_worker_process_comes_to_the_caller() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        for _ in range(2):
            with pytest.raises(onrecord.VersionConflict) as conflict:
                pool.submit(say_too_late, None).result()
            assert (conflict.value.expected, conflict.value.current) == (7, 2)
