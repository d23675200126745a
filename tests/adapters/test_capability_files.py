"""The file in which a caller says what models take: where it is named, and what it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.conversation.rendering import replays
from onrecord.adapters.demo.services.scenes import Answer
from onrecord.adapters.settings import matrix_in, settings
from onrecord.domain import jsontext
from onrecord.domain.events import RequestSent
from onrecord.domain.jsontext import JsonObject
from tests.adapters.demo.demo_client import GREETING, MODEL, TOOLS, serving

ANTHROPIC = "anthropic-messages"
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(24)
CALL: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "order_status", "input": {}}

OURS = """
[anthropic-messages.models."claude-sonnet-5*"]
tool_result = ["text"]

[gemini.models.house]
id = "house-model"
aliases = ["acme"]
user = ["text"]
context_tokens = 1_000
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(OURS, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONRECORD_CAPABILITIES", raising=False)


def shown(store: onrecord.Store, tmp_path: Path, **wishes: Any) -> str:
    """What a request makes of a picture in a result: the type of what holds it."""
    chat = store.conversation("support/4711")
    if chat.head().version == 0:
        picture = tmp_path / "a.png"
        picture.write_bytes(PIXEL)
        chat.user("What does it look like?")
        with serving([Answer((CALL,), stop_reason="tool_use"), GREETING]) as (client, _):
            chat.record(client).messages.create(
                model=MODEL, max_tokens=9, tools=TOOLS, **chat.request(ANTHROPIC)
            )
        chat.tool_result("toolu_1", [picture])
    messages: list[JsonObject] = chat.request(ANTHROPIC, **wishes)["messages"]
    said: list[JsonObject] = messages[2]["content"]
    (result,) = (block for block in said if block["type"] == "tool_result")
    return "inline" if '"type":"image"' in jsontext.write(result).decode() else "behind"


def test_a_file_says_what_models_take(file: Path, tmp_path: Path) -> None:
    with onrecord.connect("memory://", capability_file=file) as store:
        assert shown(store, tmp_path) == "behind"
    with onrecord.connect("memory://") as store:
        assert shown(store, tmp_path) == "inline"


def test_the_environment_may_name_it(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_CAPABILITIES", str(file))
    with onrecord.connect("memory://") as store:
        assert shown(store, tmp_path) == "behind"
    assert onrecord.capabilities("gemini", "acme").row == "gemini acme"


def test_a_file_that_is_given_comes_before_that_of_the_environment(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_CAPABILITIES", str(tmp_path / "missing.toml"))
    assert onrecord.capabilities("gemini", "acme", file=file).context_tokens == 1_000


def test_an_empty_name_in_the_environment_is_none() -> None:
    assert settings({"ONRECORD_CAPABILITIES": ""}).capabilities is None


def test_what_a_call_says_wins_over_the_file(file: Path, tmp_path: Path) -> None:
    with onrecord.connect("memory://", capability_file=str(file)) as store:
        given = onrecord.CapabilityOverride(tool_result=("text", "image"))
        assert shown(store, tmp_path, capability_override=given) == "inline"


def test_a_fork_knows_the_file_too(file: Path) -> None:
    with onrecord.connect("memory://", capability_file=file) as store:
        chat = store.conversation("support/4711")
        chat.user("Hello")
        forked = chat.fork("support/4712")
        told = forked.request("gemini", model="acme").options
        assert told.matrix == matrix_in(file)["gemini"]


def test_a_request_holds_what_is_said_of_its_own_api_only(file: Path) -> None:
    with onrecord.connect("memory://", capability_file=file) as store:
        chat = store.conversation("support/4711")
        chat.user("Hello")
        assert chat.request("openai-chat").options.matrix is None
        told = chat.request("gemini").options.plain()
        assert told == {"api": "gemini", "matrix": matrix_in(file)["gemini"]}


def test_a_recorded_request_renders_again_without_the_file(file: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/talks.db"
    with onrecord.connect(url, capability_file=file) as store:
        assert shown(store, tmp_path) == "behind"
        chat = store.conversation("support/4711")
        with serving([GREETING]) as (client, _):
            chat.record(client).messages.create(
                model=MODEL, max_tokens=9, **chat.request(ANTHROPIC)
            )
    file.unlink()
    with onrecord.connect(url) as store:
        chat = store.conversation("support/4711")
        outcomes = list(replays(chat))
        assert [(outcome.is_whole, outcome.is_rendered) for outcome in outcomes] == [
            (True, True),
            (True, True),
        ]
        recipes = [
            event.recipe
            for event in (recorded.event() for recorded in chat.log.read())
            if isinstance(event, RequestSent)
        ]
        told = {"tool_result": ["text"]}
        assert recipes[-1] is not None
        assert recipes[-1].options["matrix"] == {"models": {"claude-sonnet-5*": told}}
        assert shown(store, tmp_path) == "inline"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[gemini]\nuser = 'text'", "gemini.user: must be a list"),
        (b"[gemini]\nuser = [", "is no TOML: "),
        (b"[gemini]\n[gemini]", "is no TOML: "),
        (b"\xff", "is no UTF-8 at byte 0"),
        (b"a = " + b"[" * 100_000, "is "),
        (b"[germini]", "germini: is no API that Onrecord speaks"),
        (
            b"[gemini.models.a]\nid = 'a'\npattern = 'a*'",
            "gemini.models.a: must specify at most one of `id` or `pattern`",
        ),
        (
            b"[gemini.models.a]\npattern = 'a*'\naliases = ['b']",
            "gemini.models.a: a pattern cannot declare aliases",
        ),
    ],
    ids=["value", "toml", "twice", "utf-8", "deep", "api", "both", "aliases"],
)
def test_what_is_wrong_in_a_file_is_told_with_its_name_and_the_entry(
    text: bytes, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "models.toml"
    file.write_bytes(text)
    with pytest.raises(onrecord.OnrecordError) as refused:
        onrecord.connect("memory://", capability_file=file)
    assert str(refused.value).startswith(f"{file}: {why}")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(onrecord.OnrecordError, match=r"missing.toml: cannot be read: No such file"):
        onrecord.connect("memory://", capability_file=tmp_path / "missing.toml")
    with pytest.raises(onrecord.OnrecordError, match=r"cannot be read: Is a directory"):
        onrecord.capabilities("gemini", file=tmp_path)


def test_what_is_no_path_is_told() -> None:
    wrong: Any = {"gemini": {}}
    with pytest.raises(onrecord.OnrecordError, match="capabilities is the path of a TOML file"):
        onrecord.connect("memory://", capability_file=wrong)


def test_what_can_be_no_files_name_is_told() -> None:
    with pytest.raises(onrecord.InvalidInput, match="is the name of no file"):
        onrecord.connect("memory://", capability_file="a\0b")
    with pytest.raises(onrecord.InvalidInput, match="is the name of no file"):
        onrecord.capabilities("gemini", file="\ud800")


def test_no_store_is_made_where_the_file_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(onrecord.OnrecordError):
        onrecord.connect(
            f"sqlite:///{tmp_path}/talks.db", capability_file=tmp_path / "missing.toml"
        )
    assert not (tmp_path / "talks.db").exists()


def test_what_is_known_of_a_model_may_be_asked() -> None:
    known = onrecord.capabilities("openai-chat", "openai/gpt-4o-mini")
    assert known == onrecord.Capabilities(
        row="openai-chat gpt-4o*",
        user=frozenset({"text", "image", "document"}),
        document_bytes={"text": 10_485_760, "document": 52_428_800},
        cache=True,
        parallel_calls=True,
        context_tokens=128_000,
        output_tokens=16_384,
        key="gpt-4o*",
    )
    assert onrecord.capabilities("openai-chat").row == "openai-chat (any model)"


def test_an_api_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(onrecord.UnknownApi, match=r"'openai' is no API .* anthropic-messages"):
        onrecord.capabilities("openai")


def test_a_models_name_is_a_text() -> None:
    model: Any = 5
    with pytest.raises(onrecord.InvalidContent, match=r"a model's name is a text \(str\), not int"):
        onrecord.capabilities("gemini", model)


def test_what_a_call_says_must_be_what_models_may_take() -> None:
    with onrecord.connect("memory://") as store:
        chat = store.conversation("support/4711")
        chat.user("Hello")
        wrong: Any = {"user": ["smell"]}
        with pytest.raises(
            onrecord.InvalidInput,
            match=r"capability_override is not what a request takes: give an onrecord.CapabilityOverride",
        ):
            chat.request("gemini", capability_override=wrong)
