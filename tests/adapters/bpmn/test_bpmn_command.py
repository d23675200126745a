"""`onrecord bpmn`: the tools of a process model, or what is wrong with how it declares them."""

import re
from pathlib import Path

import pytest

from tests.adapters.bpmn.models import desk, task
from tests.adapters.cli.command import Command, in_process, on_a_terminal, run

DESK = Path(__file__).parent / "parcel_desk.bpmn"
NOTE = "fromAi() in output mapping 'note' of 'Track' declares nothing: move it to an input mapping"


@pytest.fixture
def onrecord(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def test_a_line_a_tool_and_a_line_a_gateway(onrecord: Command) -> None:
    done = onrecord("bpmn", str(DESK))
    assert done.code == 0
    assert done.columns == [
        [
            *("tool", "Track", "number: string, days?: integer", "expression of Track"),
            "Where a parcel is now.",
        ],
        ["tool", "Today", "", "variable of Today", "The date of today"],
        ["tool", "Complain", 'why: "late" | "broken"', "mapping of Complain", "Open a complaint."],
        ["tool", "Call_Courier", "", "", "Call the courier"],
        ["tool", "Reprint", "", "", "Print the label again"],
        ["mcpClient", "Warehouse", "", "", "Tools of the warehouse"],
        ["a2aClient", "Customs", "", "", "The agent of the customs"],
    ]
    assert done.err == f"onrecord: {NOTE}\n"


def test_the_other_flavour_has_its_own_tools_and_parameters(onrecord: Command) -> None:
    done = onrecord("bpmn", str(DESK), "--flavour", "task", "--sub-process", "Parcel_Agent")
    found = {columns[1]: columns[2] for columns in done.columns}
    assert {"On_Cancel", "Begin", "Finish"} < set(found)
    assert found["Track"] == "number: string, days?: integer, note: string"
    assert done.err == ""


def test_json_has_all_that_is_known(onrecord: Command) -> None:
    told = onrecord("bpmn", str(DESK), "--json").document
    assert list(told) == ["source", "tools", "gateways", "collecting", "results", "warnings"]
    assert told["source"]["name"] == "Parcel_Desk/Parcel_Agent"
    assert told["tools"][2]["input_schema"]["properties"]["why"]["enum"] == ["late", "broken"]
    assert told["gateways"][0] == {
        "type": "mcpClient",
        "name": "Warehouse",
        "description": "Tools of the warehouse",
    }
    assert told["collecting"]["collection"] == "toolCallResults"
    assert told["results"]["Track"] == [{"element": "Track", "way": "expression"}]
    assert told["warnings"] == [NOTE]


def test_lint_says_what_is_wrong_and_exits_with_one(onrecord: Command) -> None:
    done = onrecord("bpmn", str(DESK), "--lint")
    assert done.code == 1
    assert [columns[:2] for columns in done.columns] == [["Track", "agentFeelWrongContext"]]
    assert [columns[3] for columns in done.columns] == ["error"]
    assert done.err == "onrecord: 1 error\n"
    told = onrecord("bpmn", str(DESK), "--lint", "--json")
    assert told.code == 1
    assert [each["element"] for each in told.document["findings"]] == ["Track"]


def test_lint_warns_of_what_tools_leave_unsaid_where_it_is_asked(onrecord: Command) -> None:
    done = onrecord("bpmn", str(DESK), "--lint", "--warn", "--flavour", "task")
    assert done.code == 0
    assert ["Reprint", "agentToolResultMissing"] in [columns[:2] for columns in done.columns]
    assert {columns[3] for columns in done.columns} == {"warning"}
    assert done.err == "onrecord: 0 errors, 5 warnings\n"
    told = onrecord("bpmn", str(DESK), "--lint", "--warn", "--json")
    assert (told.code, len(told.document["warnings"])) == (1, 5)
    assert onrecord("bpmn", str(DESK), "--warn").code == 2


def test_lint_says_so_where_nothing_is_wrong(onrecord: Command) -> None:
    done = onrecord("bpmn", str(DESK), "--lint", "--flavour", "task")
    assert (done.code, done.err) == (0, "")
    assert done.out == "All that it declares for an agent is well declared.\n"


def test_lint_works_on_models_whose_tools_cannot_be_resolved(
    onrecord: Command, tmp_path: Path
) -> None:
    model = tmp_path / "desk.bpmn"
    model.write_bytes(desk(task("A", "=fromAi(1)")))
    assert onrecord("bpmn", str(model), "--lint").columns[0][1] == "agentFeelKeyTypeInvalid"
    refused = onrecord("bpmn", str(model))
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("onrecord: Failed to extract ad-hoc activity parameters")


def test_lint_is_of_the_whole_file(onrecord: Command) -> None:
    done = onrecord("bpmn", str(DESK), "--lint", "--sub-process", "Missing")
    assert (done.code, done.out) == (2, "")
    assert "the whole file" in done.err


def test_a_model_may_come_from_standard_input() -> None:
    done = run("bpmn", "-", given=DESK.read_text("utf-8"))
    assert done.columns[0][:2] == ["tool", "Track"]


def test_a_file_that_is_not_there_is_wrong_usage_and_one_that_is_no_model_an_error(
    onrecord: Command, tmp_path: Path
) -> None:
    assert onrecord("bpmn", str(tmp_path / "missing.bpmn")).code == 2
    (tmp_path / "page.html").write_text("<html/>")
    done = onrecord("bpmn", str(tmp_path / "page.html"))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "not a BPMN model" in done.err


def test_control_codes_of_a_model_do_not_reach_the_terminal(
    onrecord: Command, tmp_path: Path
) -> None:
    model = tmp_path / "desk.bpmn"
    model.write_bytes(desk(task("A\x9bB", "=\u202e \x9b2J")))
    for arguments in ((), ("--lint",)):
        done = onrecord("bpmn", str(model), *arguments)
        assert done.code == 1
        assert "\\x9b2J" in done.err + done.out
        assert not {"\x9b", "\u202e"} & set(done.err + done.out)


def test_a_terminal_is_drawn_on() -> None:
    drawn = on_a_terminal("bpmn", str(DESK))
    assert "\x1b[1m" in drawn
    for said in (
        "Parcel_Desk/Parcel_Agent",
        "Where a parcel is now.",
        "number: string",
        "mcpClient",
    ):
        assert said in drawn
    lint = re.sub(
        r"\x1b\[[0-9;]*m", "", on_a_terminal("bpmn", str(DESK), "--lint", "--warn", code=1)
    )
    assert "Track  error  agentFeelWrongContext" in lint
    assert "Reprint  warning  agentToolResultMissing" in lint
