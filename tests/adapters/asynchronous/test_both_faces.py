"""The async face has the verbs of the sync one: the same names, arguments, answers and docs."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

import onrecord

PAIRS: list[tuple[type, type]] = [
    (onrecord.Store, onrecord.AsyncStore),
    (onrecord.Conversation, onrecord.AsyncConversation),
    (onrecord.ConversationTools, onrecord.AsyncConversationTools),
    (onrecord.ConversationLog, onrecord.AsyncConversationLog),
    (onrecord.Views, onrecord.AsyncViews),
    (onrecord.Keeper, onrecord.AsyncKeeper),
    (onrecord.Following, onrecord.AsyncFollowing),
    (onrecord.StoreAccess, onrecord.AsyncStoreAccess),
    (onrecord.StoreRetention, onrecord.AsyncStoreRetention),
    (onrecord.StoreSubjects, onrecord.AsyncStoreSubjects),
]
NEVER_WAIT = {
    onrecord.Store: {"conversation", "record", "relay", "retention", "subjects", "views"},
    onrecord.Conversation: {"recording"},
    onrecord.Views: {"register"},
}
"""What waits for nobody."""
LENT = {
    "Iterator": "AsyncIterator",
    "Subscription": "AsyncSubscription",
    "Following": "AsyncFollowing",
    "AbstractContextManager[ProjectionTransaction]": "AsyncReading",
}
"""What is waited for as it is used, and not as it is asked for."""
ONE_LOOK = {"Following": {"ends", "has_come_to"}}
"""What the other face makes its own waiting of."""
OTHER_FACE = {one.__name__: other.__name__ for one, other in PAIRS}


def verbs(face: type) -> dict[str, Any]:
    """The verbs and properties of a face, with what answers when each is asked for."""
    functions: dict[str, Any] = {}
    members = {
        name: each for one in reversed(face.__mro__[:-1]) for name, each in vars(one).items()
    }
    for name, member in members.items():
        if name.startswith("_") or name in ONE_LOOK.get(face.__name__, ()):
            continue
        match member:
            case property():
                functions[name] = member.fget
            case cached_property():
                functions[name] = member.func
            case _ if inspect.isfunction(member):
                functions[name] = member
            case _:
                continue
    return functions


def parameters(verb: Callable[..., Any]) -> list[tuple[str, Any, Any, Any]]:
    signature = inspect.signature(verb)
    return [(p.name, p.kind, p.default, p.annotation) for p in signature.parameters.values()]


def answer(verb: Callable[..., Any]) -> str:
    """The type that a verb gives, as the sync face names it."""
    return str(inspect.signature(verb).return_annotation)


def of_other_face(named: str) -> str:
    if named in LENT:
        return LENT[named]
    head, bracket, rest = named.partition("[")
    return (OTHER_FACE | LENT).get(head, head) + bracket + rest


@pytest.mark.parametrize(("sync", "awaited"), PAIRS, ids=lambda face: face.__name__)
def test_each_verb_has_the_same_name_arguments_and_answer_on_both_faces(
    sync: type, awaited: type
) -> None:
    verb_of, other_of = verbs(sync), verbs(awaited)
    assert sorted(verb_of) == sorted(other_of)
    for name, verb in verb_of.items():
        assert parameters(verb) == parameters(other_of[name]), name
        assert of_other_face(answer(verb)) == answer(other_of[name]), name


@pytest.mark.parametrize(("sync", "awaited"), PAIRS, ids=lambda face: face.__name__)
def test_what_waits_is_awaited_and_what_does_not_is_not(sync: type, awaited: type) -> None:
    for name, verb in verbs(awaited).items():
        is_lent = answer(verb).startswith(tuple(LENT.values()))
        waits = name not in NEVER_WAIT.get(sync, ()) and not is_lent
        assert inspect.iscoroutinefunction(verb) == waits, name


@pytest.mark.parametrize(("sync", "awaited"), PAIRS, ids=lambda face: face.__name__)
def test_a_verb_says_the_same_or_which_verb_does(sync: type, awaited: type) -> None:
    for name, verb in verbs(awaited).items():
        said = (inspect.getdoc(verb) or "").replace(f"Async{sync.__name__}", sync.__name__)
        whole = inspect.getdoc(verbs(sync)[name]) or ""
        first = whole.splitlines()[0].rstrip(".")
        assert f"`{sync.__name__}.{name}`" in said or said.startswith(first), name


def test_a_store_is_opened_by_the_same_arguments() -> None:
    assert parameters(onrecord.connect) == parameters(onrecord.connect_async)


def test_the_sync_face_starts_no_loop() -> None:
    program = """if True:
        import sys, onrecord
        with onrecord.connect("memory://") as store:
            store.conversation("a").user("Hello")
            store.conversation("a").request("anthropic-messages")
        assert not {"asyncio", "greenlet", "concurrent.futures.thread"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_who_lacks_what_the_extra_brings_is_told_what_to_install() -> None:
    program = """if True:
        import asyncio, sys
        sys.modules["greenlet"] = None
        import onrecord
        from onrecord.adapters.storage.steps import LoopSteps
        try:
            asyncio.run(LoopSteps().run(lambda: 1))
        except onrecord.NotInstalled as error:
            assert "onrecord[postgres]" in str(error), error
        else:
            raise AssertionError("it ran")
    """
    subprocess.run([sys.executable, "-c", program], check=True)
