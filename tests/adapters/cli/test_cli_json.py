"""docs/cli.md lists what each command writes; every command is run and compared with it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.store import backend_of
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.adapters.cli.command import Done, run
from tests.adapters.tools.conversations import call_tools

KEY = "support/4711"
MODEL = str(Path(__file__).parents[1] / "bpmn" / "parcel_desk.bpmn")
PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `onrecord ([^`]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
LISTED = {command: re.findall(r"`(\w+)`", keys) for command, _, keys in ROWS}
COLUMNS = {command: columns.split(", ") for command, columns, _ in ROWS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json")


@pytest.fixture(scope="module")
def demo(folder: Path) -> Done:
    return run("demo", "--keep", "--json", TMPDIR=str(folder))


def documents(done: Done) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def actor_in(url: str) -> str:
    """Somebody who acted in a store."""
    with onrecord.connect(url) as store:
        store.conversation("acted", actor="ana").user("Hello")
    return "ana"


def pay(amount: int) -> int:
    """Pay it."""
    return amount


def sealing(folder: Path, url: str) -> dict[str, str]:
    """What the environment says of a key to seal a store with, and of where its seals are kept."""
    key = folder / "seal.key"
    with onrecord.connect(url) as store:
        make_key_file(key, key_name_of(log_id_of(backend_of(store).digest)))
    return {"ONRECORD_SEAL_KEY": str(key), "ONRECORD_SEALS": str(folder / "seals")}


def encrypted(folder: Path) -> dict[str, str]:
    """What the environment says of an encrypted store, in which something is said."""
    new_key_file(folder / "kek")
    url, keys, kek = (
        f"sqlite:///{folder / 'secret.db'}",
        str(folder / "keys.db"),
        str(folder / "kek"),
    )
    with onrecord.connect(url, keys=keys, kek=kek) as store:
        store.conversation(KEY, subjects=["ann"]).user("Hello")
    return {"ONRECORD_URL": url, "ONRECORD_KEYS": keys, "ONRECORD_KEK": kek}


def waiting(place: str) -> str:
    """A store in which two calls wait for a person; return its URL."""
    with onrecord.connect(place) as store:
        chat = call_tools(store.conversation(KEY), ("pay", {"amount": 7}), ("pay", {"amount": 8}))
        onrecord.ToolRunner(chat, [onrecord.tool(pay, needs_approval=True)]).run()
    return place


def test_every_command_writes_the_keys_that_are_listed(demo: Done, folder: Path) -> None:
    url = demo.document["url"]
    file, copy = str(folder / "chat.jsonl"), f"sqlite:///{folder / 'copy.db'}"
    held = waiting(f"sqlite:///{folder / 'held.db'}")
    shown = documents(run("show", KEY, "--json", "--url", url))
    prompt = next(str(event["version"]) for event in shown if event["type"] == "message.recorded")
    request = next(str(event["version"]) for event in shown if event["type"] == "request.sent")
    issued = run("keys", "issue", "gateway", "--json", "--url", copy)
    sealed, ann = sealing(folder, url), encrypted(folder)
    plain = f"sqlite:///{folder / 'plain.db'}"
    moving = ("move", "--into", ann["ONRECORD_URL"], "--json", "--url", plain)
    with onrecord.connect(plain) as store:
        store.conversation("plain").user("Hello")
    with onrecord.connect(url, actor="ana") as store:
        store.retention.place_hold(matter="Smith v. Example", reason="claim")
        store.retention.set_class("six-months", rule="EU AI Act 19(1)")
    with onrecord.connect(copy, access_log="on") as store:
        store.access.record("a console", actor="ana")
    runs = {
        "keys issue NAME": issued,
        "keys list": run("keys", "list", "--json", "--url", copy),
        "keys revoke ID": run(
            *("keys", "revoke", issued.document["id"], "--reason", "lost", "--json", "--url", copy)
        ),
        "conversations": run("conversations", "--json", "--url", url),
        "show KEY": run("show", KEY, "--json", "--url", url),
        "request KEY": run("request", KEY, "--json", "--url", url),
        "diff KEY A B": run("diff", KEY, "28", "32", "--json", "--url", url),
        "why KEY VERSION": run("why", KEY, "3", "--json", "--url", url),
        "replay KEY": run("replay", KEY, "--json", "--url", url),
        "replay KEY --verify": run("replay", KEY, "--verify", "--json", "--url", url),
        "export KEY -o FILE": run("export", KEY, "-o", file, "--json", "--url", url),
        "evidence KEY --out FILE": run(
            *("evidence", KEY, "--out", str(folder / "chat.evidence"), "--seal", "--json"),
            *("--url", url),
            **sealed,
        ),
        "share KEY --into FILE": run(
            *("share", KEY, "--into", str(folder / "chat.html"), "--word", "parcel", "--json"),
            *("--url", url),
        ),
        "seal-key FILE": run("seal-key", str(folder / "new.key"), "--json", "--url", url),
        "seal": run("seal", "--json", "--url", url, **sealed),
        "checkpoint": run("checkpoint", "--json", "--url", url, **sealed),
        "kek FILE": run("kek", str(folder / "new.kek"), "--json"),
        "rotate-keys": run("rotate-keys", "--json", **ann),
        "move --into URL": run(*moving, **ann),
        "move --into URL --verify": run(*moving, "--verify", **ann),
        "holds list": run("holds", "list", "--json", "--url", url),
        "access": run("access", "--json", "--url", copy),
        "retention clear [KEY]": run(
            *("retention", "clear", "--reason", "none", "--json", "--url", copy)
        ),
        "retention list": run("retention", "list", "--json", "--url", url),
        "import FILE": run("import", file, "--json", "--url", copy),
        "import --check FILE": run("import", "--check", file, "--json"),
        "tools KEY": run("tools", KEY, "--json", "--url", url),
        "tools KEY --api API": run("tools", KEY, "--api", "gemini", "--json", "--url", url),
        "tools KEY --all": run("tools", KEY, "--all", "--json", "--url", url),
        "context KEY": run("context", KEY, "--json", "--url", url),
        "documents KEY": run("documents", KEY, "--json", "--url", url),
        "bpmn FILE": run("bpmn", MODEL, "--json"),
        "bpmn FILE --lint": run("bpmn", MODEL, "--lint", "--flavour", "task", "--warn", "--json"),
        "check-request FILE --api API": run(
            *("check-request", "-", "--api", "openai-chat", "--json"),
            given='{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}',
        ),
        "import --api API FILE": run(
            *("import", "-", "--api", "openai-chat", "--key", "kept", "--json", "--url", copy),
            given='[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]',
        ),
        "approvals [KEY]": run("approvals", "--json", "--url", held),
        "approve KEY CALL": run("approve", KEY, "call_1", "--json", "--url", held),
        "deny KEY CALL": run("deny", KEY, "call_2", "--reason", "no", "--json", "--url", held),
        "verify [KEY]": run("verify", KEY, "--json", "--url", url),
        "sweep": run("sweep", "--json", "--url", url),
        "capabilities [API] [MODEL]": run("capabilities", "--json"),
        "overview": run("overview", "--json", "--url", url),
        "search TEXT": run("search", "parcel", "--json", "--url", url),
        "calls": run("calls", "--json", "--url", url),
        "window KEY": run("window", KEY, "--json", "--url", url),
        "usage": run("usage", "--json", "--url", url),
        "audit": run("audit", "--json", "--url", url),
        "audit -c KEY --request VERSION": run(
            *("audit", "-c", KEY, "--request", request, "--json", "--url", url)
        ),
        "audit --report FILE": run(
            *("audit", "--report", str(folder / "audit.html"), "--json", "--url", url)
        ),
        "in-force": run("in-force", "--model", "none", "--json", "--url", url),
        "views": run("views", "--json", "--url", url),
        "pause VIEW": run("pause", "audit", "--json", "--url", url),
        "resume VIEW": run("resume", "audit", "--json", "--url", url),
        "retry VIEW": run("retry", "audit", "--json", "--url", url),
        "rebuild VIEW": run("rebuild", "audit", "--json", "--url", url),
        "fork KEY NEW_KEY": run("fork", KEY, "fork", "--json", "--url", copy),
        "compact KEY SUMMARY": run("compact", KEY, "It is late.", "--json", "--url", copy),
        "retract-answer KEY": run("retract-answer", "kept", "--json", "--url", copy),
        "edit-message KEY VERSION TEXT": run(
            "edit-message", KEY, prompt, "And now?", "--json", "--url", copy
        ),
        "redact KEY VERSION": run("redact", KEY, prompt, "--json", "--url", copy),
        "forget-actor NAME": run(
            *("forget-actor", actor_in(copy), "--yes", "--reason", "asked to", "--json"),
            *("--url", copy),
        ),
        "forget KEY": run("forget", KEY, "--yes", "--reason", "asked to", "--json", "--url", copy),
        "export --subject NAME -o FILE": run(
            *("export", "--subject", "ann", "-o", str(folder / "ann.jsonl"), "--json"), **ann
        ),
        "erase --subject NAME --dry-run": run(
            *("erase", "--subject", "ann", "--rule", "GDPR 17", "--dry-run", "--json"), **ann
        ),
        "erase --subject NAME": run(
            *("erase", "--subject", "ann", "--rule", "GDPR 17", "--reason", "asked to"),
            *("--yes", "--json"),
            **ann,
        ),
        "migrate": run("migrate", "--json", "--url", url),
        "demo": demo,
    }
    written = {
        command: {tuple(document) for document in documents(done)} for command, done in runs.items()
    }
    assert written == {command: {tuple(LISTED[command])} for command in runs}
    assert LISTED.keys() - runs.keys() == {
        *("demo --live", "tail", "parked [VIEW]", "expire --archive URL")
    }


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("conversations", ("conversations",)),
        ("show KEY", ("show", KEY)),
        ("diff KEY A B", ("diff", KEY, "28", "32")),
        ("why KEY VERSION", ("why", KEY, "3")),
        ("replay KEY", ("replay", KEY)),
        ("tools KEY", ("tools", KEY)),
        ("tools KEY --all", ("tools", KEY, "--all")),
        ("overview", ("overview",)),
        ("search TEXT", ("search", "parcel")),
        ("calls", ("calls",)),
        ("window KEY", ("window", KEY)),
        ("usage", ("usage",)),
        ("audit", ("audit",)),
        ("views", ("views",)),
    ],
)
def test_columns_are_as_many_as_are_listed(
    demo: Done, command: str, arguments: tuple[str, ...]
) -> None:
    done = run(*arguments, "--url", demo.document["url"])
    assert {len(row) for row in done.columns} == {len(COLUMNS[command])}
