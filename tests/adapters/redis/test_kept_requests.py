"""What is kept of a request gives it back: every byte of it, and every note of its report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.redis.hot_windows import read, written
from onrecord.domain.errors import MalformedJson, NothingToSend, UnsupportedDocument
from onrecord.projections.apis.request import APIS, Options, Report, Request, Route, render
from onrecord.projections.history.history import Note
from tests.adapters.redis.stores import same
from tests.projections.marked import BLOBS
from tests.projections.mixed_answers import Happening
from tests.projections.mixed_happenings import everything, happened
from tests.search import examples

OPTIONS = Options(api="gemini", model="gemini-2.5-pro")


def again(request: Request) -> Request:
    return read(written(request), request.options)


@pytest.mark.parametrize("api", APIS)
@examples(60)
@given(
    deeds=st.lists(everything, min_size=1, max_size=12),
    cache=st.booleans(),
    model=st.sampled_from([None, "gpt-4o-audio-preview", "qwen3"]),
)
def test_a_request_of_any_history_comes_back_as_it_was(
    api: str, deeds: list[Happening], cache: bool, model: str | None
) -> None:
    wished = Options(api=api, cache=cache, model=model)
    try:
        request = render(happened(deeds).events, wished, BLOBS)
    except (NothingToSend, UnsupportedDocument):
        return
    assert same(again(request), request)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None))
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@examples(200)
@given(st.dictionaries(st.text(), values, max_size=4), st.booleans())
def test_any_arguments_come_back_as_they_were(arguments: dict[str, object], has_body: bool) -> None:
    body = {"contents": list(arguments)} if has_body else None
    request = Request(arguments, OPTIONS, Report(), body)
    back = again(request)
    assert (repr(dict(back)), repr(back.body)) == (repr(arguments), repr(body or arguments))


def test_halves_of_a_pair_that_came_apart_are_not_joined() -> None:
    request = Request({"text": "\ud83d\ude00", "other": "\U0001f600"}, OPTIONS, Report())
    assert dict(again(request)) == {"text": "\ud83d\ude00", "other": "\U0001f600"}


def test_arguments_that_are_the_body_stay_the_body() -> None:
    back = again(Request({"messages": []}, OPTIONS, Report()))
    assert back["messages"] is back.body["messages"]


def test_the_notes_and_the_routes_come_back() -> None:
    note = Note("left out", "R10", None, "it is blank")
    route = Route(3, "image/png", "image", "result", "behind", "does not fit", "gemini (any model)")
    report = Report((note,), (route,))
    assert again(Request({"contents": []}, OPTIONS, report)).report == report


def test_what_is_neither_json_nor_bytes_is_malformed() -> None:
    with pytest.raises(MalformedJson):
        written(Request({"contents": {1, 2}}, OPTIONS, Report()))
