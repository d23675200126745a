"""Which conversations ran under a rule: a policy, a deployment, instructions, tools, a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.content import Text
from onrecord.domain.events import ContentRedacted, InstructionsSet, ToolsDeclared
from onrecord.domain.tools import ToolDefinition, tools_digest
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.audit_facts import rule_digest
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.row_stores import RowStore, everything
from tests.adapters.views.workers import caught_up
from tests.databases import url_of
from tests.factories import TENANT, appending, prompt, started
from tests.sqlite_by_hand import ByHand

BRIEFLY = "Antworte knapp, äußerst knapp."
BRIEFLY_DIGEST = hashlib.sha256(json.dumps(BRIEFLY).encode()).hexdigest()
TRACK = ToolDefinition(name="track", input_schema={"type": "object"})
RULES = {"policy": "2026-11", "deployment": "eu-1"}
AUDITED = {"audit": VIEWS["audit"]}


def converse(store: onrecord.Store) -> None:
    """Two conversations under one policy, and one under another."""
    for key, policy in (("a", "2026-11"), ("b", "2026-11"), ("c", "2026-12")):
        chat = store.conversation(key, policy=policy, deployment=f"eu-{key}")
        chat.user("Where is it?")
    store.conversation("a", policy="2026-12").instruct(BRIEFLY)
    declared = store.conversation("b")
    declared.tools.declare([TRACK])
    sent = declared.record_request(
        {"model": "gpt-5", **declared.request("openai-chat")}, api="openai-chat"
    )
    assert sent is not None


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[onrecord.Store]:
    for url in url_of(request.param, tmp_path):
        with closing(onrecord.connect(url)) as opened:
            converse(opened)
            if request.param == "postgres":
                caught_up(url, AUDITED)
            yield opened


def test_conversations_are_found_by_each_rule(store: onrecord.Store) -> None:
    views = store.views
    assert [each.key for each in views.in_force(policy="2026-11")] == ["b", "a"]
    assert [each.key for each in views.in_force(policy="2026-12")] == ["a", "c"]
    assert [each.key for each in views.in_force(deployment="eu-c")] == ["c"]
    assert [each.key for each in views.in_force(instructions=BRIEFLY_DIGEST)] == ["a"]
    assert [each.key for each in views.in_force(tools=tools_digest([TRACK]))] == ["b"]
    assert [each.key for each in views.in_force(model="gpt-5")] == ["b"]
    assert not views.in_force(policy="2026")
    assert not views.in_force(tools=BRIEFLY_DIGEST)


def test_an_entry_says_when_a_rule_was_in_force_first_and_last(store: onrecord.Store) -> None:
    (last, _) = store.views.in_force(policy="2026-12")
    assert (last.events, last.first_version, last.last_version) == (1, 3, 3)
    (_, first) = store.views.in_force(policy="2026-11")
    assert (first.events, first.first_version, first.last_version) == (2, 1, 2)
    times = [event.recorded_at for event in store.conversation("a").events()]
    assert (first.first_at, first.last_at) == (times[0], times[1])
    assert first.first_time <= first.last_time < last.first_time
    assert not store.views.in_force(policy="2026-11", until=first.first_time)
    assert [each.key for each in store.views.in_force(policy="2026-12", since=last.first_time)] == [
        "a"
    ]


def test_pages_of_a_rule_neither_repeat_nor_leave_out(store: onrecord.Store) -> None:
    first = store.views.in_force(policy="2026-11", limit=1)
    rest = store.views.in_force(policy="2026-11", limit=1, after=first.after)
    assert [each.key for each in (*first, *rest)] == ["b", "a"]
    assert rest.after is None
    with pytest.raises(onrecord.InvalidInput, match="other filters"):
        store.views.in_force(policy="2026-12", limit=1, after=first.after)


def test_the_audit_says_and_finds_rules(store: onrecord.Store) -> None:
    found = store.views.audit(policy="2026-12")
    assert next((each.key, each.type) for each in found) == ("a", "instructions.set")
    assert [each.sha256 for each in found] == [BRIEFLY_DIGEST, None, None]
    assert {each.deployment for each in store.views.audit(deployment="eu-b")} == {"eu-b"}
    assert store.verify(views=True).faults == ()


def test_what_is_forgotten_leaves_no_digest_and_keeps_its_policy(store: onrecord.Store) -> None:
    store.forget("a", reason="asked to", actor="eve")
    assert not store.views.in_force(instructions=BRIEFLY_DIGEST)
    assert [each.key for each in store.views.in_force(policy="2026-11")] == ["b", None]


@pytest.mark.parametrize("rules", [{}, RULES, {"model": "gpt-5", "tools": BRIEFLY_DIGEST}])
def test_one_rule_is_asked_for_and_no_more(rules: dict[str, str]) -> None:
    with (
        onrecord.connect("memory://") as store,
        pytest.raises(onrecord.InvalidInput, match="give one of policy, deployment, model"),
    ):
        store.views.in_force(**rules)  # type: ignore[arg-type]


def test_redacted_instructions_keep_their_row_without_the_digest(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    said = (started(), InstructionsSet(content=BRIEFLY), ToolsDeclared(tools=(TRACK,)), prompt())
    log.append([appending(conversation, *said)])
    rows.step(AUDIT, everything(log))
    told = [row["sha256"] for row in rows.page(AUDIT, TENANT)]
    assert told == [None, tools_digest([TRACK]), BRIEFLY_DIGEST, None]
    log.append([appending(conversation, ContentRedacted(version=2))])
    rows.step(AUDIT, everything(log)[4:])
    assert rows.page(AUDIT, TENANT, type="instructions.set")[0]["sha256"] is None
    rows.forget(AUDIT, conversation)
    assert {row["sha256"] for row in rows.page(AUDIT, TENANT)} == {None}


def test_the_digest_of_instructions_is_that_of_their_canonical_json() -> None:
    plain = {"kind": "text", "text": BRIEFLY}
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    told = rule_digest(InstructionsSet(content=Text(text=BRIEFLY)))
    assert told == hashlib.sha256(canonical).hexdigest()
    assert rule_digest(InstructionsSet(content=BRIEFLY)) == BRIEFLY_DIGEST
    assert rule_digest(ToolsDeclared(tools=(TRACK,), sha256="ab")) == "ab"


def test_the_audit_of_a_store_from_before_is_made_again_with_rules(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with closing(onrecord.connect(url, policy="2026-11")) as store:
        store.conversation("a").instruct(BRIEFLY)
        assert len(store.views.audit()) == 2
    by_hand = ByHand.open(tmp_path / "log.db-views")
    by_hand.run("UPDATE view_audit SET sha256 = NULL, policy = NULL")
    by_hand.run("UPDATE generation SET revision = 2 WHERE view = 'audit'")
    by_hand.close()
    with closing(onrecord.connect(url)) as store:
        assert [each.key for each in store.views.in_force(instructions=BRIEFLY_DIGEST)] == ["a"]
        assert [each.events for each in store.views.in_force(policy="2026-11")] == [2]


def test_requests_are_found_by_what_they_were_rendered_by(tmp_path: Path) -> None:
    own = onrecord.CapabilityOverride(tool_result=("text",))
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}") as store:
        for key, override in (("a", own), ("b", None), ("c", own)):
            chat = store.conversation(key)
            chat.user("Where is it?")
            body = chat.request("openai-chat", model="gpt-5", capability_override=override)
            sent = chat.record_request({"model": "gpt-5", **body}, api="openai-chat")
            assert sent is not None
        by_hand = store.conversation("by hand")
        by_hand.record_request(
            {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}, api="openai-chat"
        )
        digests = {e.key: e.sha256 for e in store.views.audit(type="request.sent")}
        found = [
            {each.key for each in store.views.in_force(capabilities=digests[key] or "")}
            for key in ("a", "b")
        ]
        recipe = next(
            happened.recipe
            for each in store.get("a").events()
            if isinstance(happened := each.event(), onrecord.RequestSent)
        )
    assert found == [{"a", "c"}, {"b"}]
    assert digests["by hand"] is None
    assert recipe is not None
    plain = {"capabilities": recipe.options["capabilities"], "renderer": recipe.renderer}
    canonical = json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()
    assert digests["a"] == hashlib.sha256(canonical).hexdigest()
