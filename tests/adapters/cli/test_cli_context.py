"""`onrecord context`: what a conversation carries for its tools."""

from pathlib import Path

import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of
from tests.factories import BECAUSE


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path) -> str:
    with onrecord.connect(url_of(tmp_path)) as store:
        store.conversation("support/4711").user("Hello")
    return url_of(tmp_path)


def carried(url: str) -> dict[str, str]:
    with onrecord.connect(url) as store:
        return dict(store.conversation("support/4711").tool_context())


def test_it_sets_shows_and_unsets(run: Command, url: str) -> None:
    done = run("context", "support/4711", "--set", "tenant_id=acme", "--set", "a=b=c", "--url", url)
    assert done.columns == [["a", "b=c"], ["tenant_id", "acme"]]
    assert carried(url) == {"tenant_id": "acme", "a": "b=c"}
    assert run("context", "support/4711", "--url", url).columns == done.columns
    done = run("context", "support/4711", "--unset", "a", "--set", "tenant_id=other", "--url", url)
    assert done.columns == [["tenant_id", "other"]]
    assert carried(url) == {"tenant_id": "other"}


def test_showing_and_setting_what_is_set_records_nothing(run: Command, url: str) -> None:
    run("context", "support/4711", "--set", "tenant_id=acme", "--url", url)
    first = run("context", "support/4711", "--json", "--url", url).document
    run("context", "support/4711", "--set", "tenant_id=acme", "--unset", "absent", "--url", url)
    assert run("context", "support/4711", "--json", "--url", url).document == first
    assert first["version"] == 3
    assert first["key"] == "support/4711"
    assert first["context"] == {"tenant_id": "acme"}
    assert set(first) == {"key", "conversation", "version", "context"}


def test_nothing_carried_is_nothing_written(run: Command, url: str) -> None:
    done = run("context", "support/4711", "--url", url)
    assert (done.code, done.out) == (0, "")
    assert run("context", "support/4711", "--json", "--url", url).document["context"] == {}


def test_a_credential_is_refused_and_not_shown(run: Command, url: str) -> None:
    done = run("context", "support/4711", "--set", "api_key=canary-41", "--url", url)
    assert done.code == 1
    assert "credential" in done.err
    assert "canary" not in done.out + done.err
    assert carried(url) == {}


@pytest.mark.parametrize("entry", ["tenant_id", "=acme", ""])
def test_an_entry_without_a_name_or_a_value_is_wrong_usage(
    run: Command, url: str, entry: str
) -> None:
    assert run("context", "support/4711", "--set", entry, "--url", url).code == 2


def test_setting_and_unsetting_one_name_is_an_error(run: Command, url: str) -> None:
    done = run("context", "support/4711", "--set", "a=b", "--unset", "a", "--url", url)
    assert done.code == 1
    assert "set and unset" in done.err


def test_a_key_that_is_not_there_is_an_error(run: Command, url: str) -> None:
    done = run("context", "support/4712", "--url", url)
    assert done.code == 1
    assert "support/4711" in done.err


def test_a_forgotten_conversation_carries_nothing_any_more(run: Command, url: str) -> None:
    with onrecord.connect(url) as store:
        chat = store.conversation("support/4711")
        forgotten = str(chat.conversation_id)
        store.forget(chat.conversation_id, **BECAUSE)
    done = run("context", forgotten, "--set", "a=b", "--url", url)
    assert done.code == 1
    assert "forgotten" in done.err


def test_control_characters_are_escaped(run: Command, url: str) -> None:
    done = run("context", "support/4711", "--set", "a=\x1b[31m\nb\tc", "--url", url)
    assert done.out == "a\t\\x1b[31m\\nb\\tc\n"


def test_on_a_terminal_it_is_aligned(url: str) -> None:
    nothing = on_a_terminal("context", "support/4711", "--url", url)
    assert nothing == "support/4711 carries nothing for its tools.\n"
    changes = ("--set", "tenant_id=acme", "--set", "run=7")
    drawn = on_a_terminal("context", "support/4711", *changes, "--url", url)
    assert drawn == "run        7\ntenant_id  acme\n"
