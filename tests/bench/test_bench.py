"""The bench works: at its smallest, ours alone. It says nothing here of how fast anything is."""

import json
from tempfile import gettempdir
from typing import Any

import pytest

from onrecord.projections.views.registry import VIEWS
from tests.bench import ledger, sharing
from tests.bench.__main__ import main
from tests.bench.growth import GROUPS


def lines_of(names: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*names, "--smallest", "--alone", "--folder", gettempdir()]) == 0
    printed = map(json.loads, capsys.readouterr().out.splitlines())
    return {line["name"]: line for line in printed}


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_measure_of_a_database_has_its_line(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of([f"append.{database}", f"request.{database}"], capsys)
    assert {
        f"append.{database}.10",
        f"append.{database}.20.backend",
        f"append.{database}.flat",
        f"request.{database}.20.recorded",
        f"request.{database}.flat.said",
    } <= lines.keys()
    assert lines[f"append.{database}.10"]["ours"]["n"] == 4
    assert lines[f"append.{database}.10"]["ours"]["median"] > 0


def test_callers_in_processes_of_their_own_are_counted_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = lines_of(["callers", "insert"], capsys)
    for name in ("2", "2x2.async", "2x2.threads", "2x2.bare"):
        assert lines[f"callers.postgres.{name}"]["ours"]["median"] > 0
    assert lines["insert.postgres"]["peer"]["median"] > 0


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_what_sessions_of_frameworks_do_has_its_lines(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(
        [f"frameworks.{name}.{database}" for name in ("openai_agents", "claude")], capsys
    )
    for name in (f"openai_agents.{database}.append", f"openai_agents.{database}.last"):
        assert lines[f"frameworks.{name}"]["ours"]["median"] > 0
    assert lines[f"frameworks.claude.{database}.append"]["aim"].startswith("below")
    assert lines[f"frameworks.claude.{database}.append.beside"]["peer"]["median"] > 0


def test_a_turn_of_a_graph_and_what_it_takes_have_their_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = lines_of(["frameworks.langgraph"], capsys)
    for name in ("bare.20", "sqlite.20", "sqlite.20.cold", "postgres.20", "postgres.flat"):
        assert lines[f"frameworks.langgraph.{name}"]["ours"]["median"] > 0
    assert lines["frameworks.langgraph.bytes.20"]["ours"]["median"] > 1
    assert "frameworks.langgraph.postgres.20.over" in lines


def test_the_import_brings_no_sdk(capsys: pytest.CaptureFixture[str]) -> None:
    (measure,) = (line for name, line in lines_of(["import"], capsys).items() if name == "import")
    assert measure["note"] == "SDKs and drivers that it loads: none"


def test_verifying_has_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["verify"], capsys)
    assert lines["verify.hashes.beside"]["peer"]["median"] > 0
    for name in ("hashes", "whole", "sealed"):
        assert lines[f"verify.{name}"]["ours"]["median"] > 0


def test_encryption_seals_proofs_and_evidence_have_their_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_GROUP", 2)
    lines = lines_of(["ledger"], capsys)
    for name in (
        "encryption.each.beside",
        "encryption.together.beside",
        "encryption.memory.beside",
    ):
        assert lines[f"ledger.{name}"]["peer"]["median"] > 0
    assert lines["ledger.encryption.memory"]["aim"] == "at most 3"
    assert lines["ledger.seals"]["aim"] == "at most 1.05"
    for name in ("seals.clock", "seal", "proof.inclusion", "proof.consistency"):
        assert lines[f"ledger.{name}"]["ours"]["median"] > 0
    for name in ("evidence", "export"):
        assert lines[f"ledger.memory.{name}"]["peer"]["median"] > 0


def test_a_log_grows_by_more_than_what_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["growth.log"], capsys)
    for group in GROUPS:
        assert lines[f"growth.postgres.wal.{group}"]["ours"]["median"] > 1_024
    assert lines["growth.postgres.event.all"]["ours"]["median"] > 1_024
    assert lines["growth.sqlite.event"]["ours"]["median"] > 1_024


def test_a_window_is_asked_for_by_new_processes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["windowed"], capsys)
    for name in ("sqlite.20.cold", "postgres.20.cold"):
        assert lines[f"windowed.{name}"]["ours"]["median"] > 0


def test_each_verb_is_awaited_and_called(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["awaited"], capsys)
    for name in ("sqlite.head", "sqlite.request", "postgres.user"):
        assert lines[f"awaited.{name}"]["peer"]["median"] > 0


def test_requests_appends_and_batches_over_http_have_their_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = lines_of(["serving"], capsys)
    for database in ("sqlite", "postgres"):
        assert lines[f"serving.{database}.request"]["peer"]["median"] > 0
        assert lines[f"serving.{database}.request.over"]["aim"] == "at most 1.5"
    assert lines["serving.postgres.append.beside"]["peer"]["median"] > 0
    assert lines["serving.postgres.append"]["aim"] == "at least 3000"
    assert lines["serving.postgres.batch"]["ours"]["median"] > 0


def test_the_page_of_a_conversation_has_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["page"], capsys)
    for name in ("answer", "slider", "live"):
        assert lines[f"page.{name}"]["peer"]["median"] > 0


def test_callers_processes_shards_and_sizes_have_their_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = lines_of(["scaling"], capsys)
    assert {"scaling.callers.64", "scaling.processes.4", "scaling.shards.8"} <= lines.keys()
    assert lines["scaling.size.200"]["ours"]["median"] > 0


def test_each_view_tells_what_it_grows_by(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["growth.views"], capsys)
    for view in VIEWS:
        assert lines[f"growth.view.{view}"]["ours"]["median"] > 0
        assert lines[f"growth.view.{view}.wal"]["ours"]["median"] > 0


def test_views_are_caught_up_seen_and_rebuilt(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["projecting"], capsys)
    assert lines["projecting.catch_up"]["ours"]["median"] > 0
    assert lines["projecting.visible.p50"]["ours"]["median"] > 0
    assert lines["projecting.rebuild.memory"]["ours"]["median"] > 0


def test_projections_of_ones_own_have_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(["own_projecting"], capsys)
    for name in ("tables", "rows", "library"):
        assert lines[f"own_projecting.{name}"]["ours"]["median"] > 0


def test_one_worker_and_two_have_their_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_ROUNDS", 1)
    monkeypatch.setattr(sharing, "_CHOICES", {"audit": ("audit",)})
    lines = lines_of(["sharing"], capsys)
    assert lines["sharing.audit.1"]["ours"]["median"] > 0
    assert lines["sharing.audit.2"]["ours"]["median"] > 0
