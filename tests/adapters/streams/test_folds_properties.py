"""Whatever several programs do to a conversation, what goes on from a fold is what a fresh one gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.store import Store
from onrecord.domain.events import MessageRecorded
from onrecord.projections.api import names
from onrecord.projections.apis.request import Request
from tests.factories import BECAUSE
from tests.projections.happenings import Story, tool_use
from tests.projections.marked import BLOBS
from tests.projections.mixed_happenings import everything
from tests.search import examples

FIRST, FORK = "support/4711", "support/4712"
Windows = onrecord.Window | onrecord.MessageWindow | None
Deed = Callable[[Store, str], object]

numbers = st.integers(0, 30)
windows = st.none() | st.builds(
    onrecord.Window, exchanges=st.integers(1, 3), step=st.integers(1, 3), pinned=st.integers(0, 1)
)
message_windows = st.builds(
    onrecord.MessageWindow,
    messages=st.integers(1, 6),
    strategy=st.sampled_from(["message-window", "sliding-window"]),
)


@st.composite
def happens(draw: st.DrawFn) -> Deed:
    """Anything that is recorded: of the six APIs, their answers, results, documents, redactions."""
    happening = draw(everything)
    return lambda store, key: record(store.conversation(key), happening)


@st.composite
def converses(draw: st.DrawFn) -> Deed:
    """Some exchanges, each with a round of calls or without."""
    rounds = draw(st.lists(st.sampled_from(["", "result", "late", "none"]), min_size=1, max_size=5))

    def talk(story: Story) -> None:
        for result in rounds:
            story.user("and now?")
            story.ask()
            if result:
                call = f"toolu_{len(story.events)}"
                story.answer("looking", tool_use(call), stop="tool_use")
                if result == "result":
                    story.result(call, "found")
                story.ask()
                if result == "late":
                    story.result(call, "found late")
            story.answer("well")

    return lambda store, key: record(store.conversation(key), talk)


def record(chat: Conversation, happening: Callable[[Story], object]) -> None:
    story = Story()
    before = chat.head().version
    story.events += [(version, said("before")) for version in range(1, before + 1)]
    happening(story)
    for data in BLOBS.values():
        stream_of(chat).put((data,))
    for _, event in story.events[before:]:
        chat.log.append(event)


def redact(store: Store, key: str, number: int) -> None:
    store.conversation(key).redact(place(store.conversation(key), number))


def edit(store: Store, key: str, number: int) -> None:
    chat = store.conversation(key)
    prompts = [event.version for event in chat.events() if event.type == "message.recorded"]
    chat.edit_message(prompts[number % len(prompts)], f"edited {number}")


def retract(store: Store, key: str, number: int) -> None:
    store.conversation(key).retract_answer()


def compact(store: Store, key: str, number: int) -> None:
    chat = store.conversation(key)
    chat.compact(f"in short {number}", until=place(chat, number) if number % 3 else None)


def instruct(store: Store, key: str, number: int) -> None:
    store.conversation(key).instruct(f"instructions {number}")


def fork(store: Store, key: str, number: int) -> None:
    chat = store.conversation(FIRST)
    chat.fork(FORK, at=place(chat, number)).user(f"forked {number}")


def forget(store: Store, key: str, number: int) -> None:
    store.forget(key, **BECAUSE)
    store.conversation(key).user(f"begun anew {number}")


def say_much(store: Store, key: str, number: int) -> None:
    """So much that one read does not hold it."""
    chat = store.conversation(key)
    for _ in range(3):
        chat.log.append(*(said(f"{number} {count}") for count in range(100)))


def said(text: str) -> MessageRecorded:
    return MessageRecorded(role="user", content=(onrecord.Text(text=text),))


def place(chat: Conversation, number: int) -> int:
    return 1 + number % max(1, chat.head().version)


@st.composite
def cuts(draw: st.DrawFn) -> Deed:
    cut = draw(
        st.sampled_from([redact, edit, retract, compact, instruct, fork, fork, forget, say_much])
    )
    number = draw(numbers)
    return lambda store, key: cut(store, key, number)


steps = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([FIRST, FIRST, FORK]),
        happens() | happens() | converses() | converses() | cuts(),
        st.integers(0, 1),
        st.sampled_from(names()),
    ),
    max_size=14,
)


@examples(300)
@given(steps=steps, window=windows, other=windows | message_windows)
def test_whatever_two_programs_do_a_request_is_what_a_fold_from_scratch_gives(
    steps: list[tuple[int, str, Deed, int, str]], window: Windows, other: Windows
) -> None:
    with TemporaryDirectory() as folder, ExitStack() as closing:
        url = f"sqlite:///{Path(folder) / 'talks.db'}"
        stores = [closing.enter_context(onrecord.connect(url)) for _ in range(2)]
        scratch = closing.enter_context(onrecord.connect(url, folds=0))
        stores[0].conversation(FIRST).user("hello")
        for who, key, deed, asking, api in steps:
            with suppress(onrecord.OnrecordError, ZeroDivisionError):
                deed(stores[who], key)
            for asked in (window, other):
                assert answer(stores[asking], key, api, asked) == answer(scratch, key, api, asked)
        for store, key, api, asked in product(
            stores, (FIRST, FORK), names(), (window, other, None)
        ):
            assert answer(store, key, api, asked) == answer(scratch, key, api, asked)


def answer(store: Store, key: str, api: str, window: Windows) -> object:
    """What a request says, and what its report does; or why there is none."""
    try:
        request = store.conversation(key).request(api, window=window)
    except onrecord.OnrecordError as error:
        return repr(error)
    whole = (repr(dict(request)), request.body_parts(), repr(request.report))
    spoil(request)
    return whole


def spoil(request: Request) -> None:
    """Change all that a request holds, as a careless receiver may."""
    for value in (*request.values(), *request.body.values()):
        empty(value)


def empty(value: Any) -> None:
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            for item in list(members.values()):
                empty(item)
            members.clear()
        case list():
            items = cast("list[Any]", value)
            for item in items:
                empty(item)
            items.clear()
        case _:
            pass
