"""No text that a model, a provider or a file may hold takes longer than in proportion to its size.

What takes the time is within patterns and Unicode tables, which count no steps that Python sees. So
the time that the thread itself was at work is compared, never the time on the wall: for eight times
the text, what grows with its square takes 64 times as long.
"""

import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress

import pytest

from onrecord.adapters.histories.camunda import moment
from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.tools.runner.exchange import no_such_tool
from onrecord.adapters.wire import secrets
from onrecord.domain import jsontext
from onrecord.domain.blobs import spill
from onrecord.domain.documents import media_type_given, name_of
from onrecord.domain.errors import OnrecordError
from onrecord.projections.apis.model_names import Pattern
from onrecord.projections.views.texts import words_of
from tests.adapters.cli.growing_texts import UNITS

SMALL = 4_000
TIMES = 8
MOST = 24
"""How many times as long eight times the text may take; the machine does other things, too."""

NOTICED = 0.02
"""Seconds below which nothing is said of growth."""


def digest(secret: str) -> bytes:
    return secret.encode("utf-8", "replace")[:4] or b"x"


HANDLED: dict[str, Callable[[str], object]] = {
    "secrets in an error": lambda text: secrets.cut_text(text, digest),
    "secrets in a broken error": lambda text: secrets.cut_broken("{" + text, digest),
    "secrets in names": lambda text: secrets.cut_all({text: text}, digest),
    "secrets in URLs": lambda text: secrets.cut_url(f"=@{text}", digest),
    "words that are searched": words_of,
    "JSON": lambda text: jsontext.read(jsontext.write({text: text})),
    "no JSON": lambda text: jsontext.read(text),
    "blobs": lambda text: spill({"a": text, "b": [text, text[:9]]}),
    "names of documents": name_of,
    "media types": lambda text: media_type_given(f"a/b;{text}\x01"),
    "times": lambda text: moment(f"{text}]"),
    "names of models": lambda text: Pattern("*a*b*c*").matches(text),
    "lines on the screen": flat,
    "tools that there are not": lambda text: no_such_tool(text, [f"{text[:-1]}b"] * 3),
}


def worked(handle: Callable[[str], object], text: str) -> float:
    """How long this thread is at work on a text, at the least."""
    least = float("inf")
    for _ in range(3):
        began = time.thread_time()
        with suppress(OnrecordError):
            handle(text)
        least = min(least, time.thread_time() - began)
    return least


@pytest.mark.parametrize("name", HANDLED)
def test_no_text_takes_longer_than_in_proportion_to_its_size(name: str) -> None:
    handle = HANDLED[name]
    grown: dict[str, float] = {}
    for unit, text in UNITS.items():
        large = worked(handle, text(SMALL * TIMES))
        if large > NOTICED:
            grown[unit] = large / max(worked(handle, text(SMALL)), 1e-6)
    assert {unit: times for unit, times in grown.items() if times > MOST} == {}


def test_a_name_of_many_words_is_no_matter_of_recursion() -> None:
    said = secrets.cut_all({"api" + "Key" + "String" * 50_000: "very-secret"}, digest)
    assert "very-secret" not in str(said)


def test_a_letter_under_a_heap_of_marks_is_the_letter_with_some_of_them() -> None:
    marked = "a" + "\u0301\u0323" * 20 + " b"
    (first, second) = words_of(marked)
    assert unicodedata.normalize("NFD", first) == "a" + "\u0323" * 15 + "\u0301" * 15
    assert second == "b"
    assert words_of("e\u0301te\u0301") == words_of("\u00e9t\u00e9")
