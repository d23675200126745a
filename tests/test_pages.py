"""What pages show is run: the program of each, in its order, then its commands."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
import onrecord_verify
from onrecord.adapters.demo.services.scenes import Answer, JsonObject
from onrecord.adapters.demo.services.server import DemoServer
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.store import backend_of
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.projections.apis.capabilities import Told
from tests import postgres_server as postgres
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS
from tests.shown_program import run_commands, run_program
from tests.test_docs import ROOT, fences, run

DOCS = ROOT / "docs"
CAPABILITIES = DOCS / "capabilities.md"

CALLS: tuple[JsonObject, ...] = (
    {"type": "tool_use", "id": "toolu_1", "name": "track", "input": {"parcel": "NW-20931"}},
    {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"depot": "North"}},
)
LAST: JsonObject = {"type": "text", "text": "It is in depot North; I do not know the weather."}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, and nothing that the environment says of the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONRECORD_URL", raising=False)
    monkeypatch.delenv("ONRECORD_CAPABILITIES", raising=False)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that calls two tools, and then answers."""
    with DemoServer((Answer(CALLS, stop_reason="tool_use"), Answer((LAST,)))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
        yield


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("access", 3),
        ("actors", 0),
        ("audit", 5),
        ("documents", 0),
        ("keys", 2),
        ("postgresql", 0),
        ("retention", 3),
        ("signals", 0),
        ("tools", 3),
        ("views", 3),
        ("windows", 0),
    ],
)
def test_a_page_does_what_it_says(name: str, commands: int) -> None:
    page = DOCS / f"{name}.md"
    if store := run_program(page).get("store"):
        store.close()
    assert run_commands(page) >= commands


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that looks up a parcel and pays money back, and then answers, twice."""
    calls: tuple[JsonObject, ...] = (
        {"type": "tool_use", "id": "toolu_1", "name": "track", "input": {"parcel": "NW-20931"}},
        {"type": "tool_use", "id": "toolu_2", "name": "refund", "input": {"euros": 300}},
    )
    said = "NW-20931 is in depot North, and 300 euros are on their way."
    texts: list[JsonObject] = [{"type": "text", "text": text} for text in (said, "Sent.")]
    scene = (Answer(calls, stop_reason="tool_use"), *(Answer((text,)) for text in texts))
    with DemoServer(scene) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not a key")
        yield


@pytest.mark.usefixtures("desk")
def test_the_runtime_of_the_docs_does_what_it_says() -> None:
    run_program(DOCS / "runtime.md")


@pytest.mark.usefixtures("desk")
def test_on_postgresql_the_runtime_of_the_docs_needs_its_url_and_a_worker(tmp_path: Path) -> None:
    """Without a worker nothing is in the views yet: the program's last line says so."""
    url, page = fresh_log(VERSIONS[-1]), tmp_path / "runtime.md"
    text = (DOCS / "runtime.md").read_text("utf-8")
    usage = "[('claude-opus-4-5', 3)]"
    assert (text.count("sqlite:///runtime.db"), text.count(usage)) == (1, 1)
    page.write_text(text.replace("sqlite:///runtime.db", url).replace(usage, "[]"), "utf-8")
    run_program(page)
    run(f"onrecord worker --once --url {url}")
    with onrecord.connect(url) as store:
        used = store.views.usage_total()
        assert str([(entry.model, entry.responses) for entry in used.entries]) == usage
    postgres.server(VERSIONS[-1]).drop(url)


def test_the_page_on_async_programs_does_what_it_says(service: None) -> None:
    assert run_program(DOCS / "async.md")["answer"] == ""
    assert run_program(DOCS / "async.md")["answer"] == LAST["text"]


def test_the_page_on_capabilities_does_what_it_says() -> None:
    (file,) = [fence for fence in fences(CAPABILITIES) if fence.language == "toml"]
    Path("models.toml").write_text(file.text, encoding="utf-8")
    run_program(CAPABILITIES)["store"].close()
    assert run_commands(CAPABILITIES) == 3


def test_the_page_on_seals_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, keys = (DOCS / "seals.md").read_text("utf-8"), tmp_path / "keys"
    text = text.replace("/etc/onrecord", str(keys)).replace("/mnt/seals", str(tmp_path / "seals"))
    for name, value in re.findall(r"^export (\w+)=(\S+)$", text, re.MULTILINE):
        monkeypatch.setenv(name, value)
    page = tmp_path / "seals.md"
    begin, when, rest = re.split(r"^## (?=When|Formats)", text, flags=re.MULTILINE)
    keys.mkdir()
    for part, commands in ((begin, 3), (when, 0), (rest, 2)):
        page.write_text(part, encoding="utf-8")
        assert run_commands(page) == commands
        run_program(page)


def test_the_page_on_encryption_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, places = (DOCS / "encryption.md").read_text("utf-8"), tmp_path / "keys"
    text = text.replace("~/onrecord-kek", str(places)).replace("~/onrecord-keys", str(places))
    for name, value in re.findall(r"^export (\w+)=(\S+)$", text, re.MULTILINE):
        monkeypatch.setenv(name, value)
    page = tmp_path / "encryption.md"
    begin, rotating, moving = re.split(r"^## (?=Whose|Moving)", text, flags=re.MULTILINE)
    places.mkdir()
    page.write_text(begin, encoding="utf-8")
    assert run_commands(page) == 1
    run_program(page)
    page.write_text(rotating, encoding="utf-8")
    assert run_commands(page) == 4
    with onrecord.connect("sqlite:///clear.db", keys="", kek="") as store:
        store.conversation("support/4711").user("Where is my parcel?")
    new_key_file(tmp_path / "kek")
    monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
    monkeypatch.setenv("ONRECORD_KEYS", str(places / "new-keys.db"))
    page.write_text(moving, encoding="utf-8")
    assert run_commands(page) == 3


def test_the_page_on_capabilities_lists_all_that_an_entry_tells() -> None:
    page = CAPABILITIES.read_text(encoding="utf-8")
    assert [name for name in Told.model_fields if f"`{name}`" not in page] == []


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("name", ["tool-context", "tool-runner"])
def test_a_page_that_asks_a_model_does_what_it_says(name: str) -> None:
    page = DOCS / f"{name}.md"
    program = run_program(page)
    if "client" in program:
        program["client"].close()
    program["store"].close()
    run_commands(page)


def test_the_page_on_evidence_does_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "evidence.md"
    run_program(page)
    with onrecord.connect("sqlite:///support.db") as store:
        name = key_name_of(log_id_of(backend_of(store).digest))
    key = make_key_file(Path("seal.key"), name)
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "seal.key")
    monkeypatch.setenv("ONRECORD_SEALS", "seals")
    assert run_commands(page) == 3
    for name, conversations in (("4711", 1), ("march", 1)):
        with Path(f"{name}.evidence").open("rb") as file:
            bundle = onrecord_verify.verified(file, (str(key.public),))
        assert bundle.counts["conversations"] == conversations
