"""What docs/bpmn.md shows is run, in its order, as one program, beside the model that it shows."""

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest

from onrecord.adapters.bpmn import process_tools
from onrecord.adapters.bpmn.lint import Rule
from onrecord.domain.errors import InvalidModel
from tests.adapters.cli.command import in_process
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "bpmn.md"


def test_the_page_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onrecord = in_process(monkeypatch, capsys)
    program: dict[str, Any] = {}
    kinds: list[str] = []
    for fence in fences(PAGE):
        kinds.append(fence.language)
        match fence.language:
            case "xml":
                Path("desk.bpmn").write_text(fence.text, encoding="utf-8")
            case "console":
                assert onrecord(*shlex.split(fence.text.removeprefix("$ "))[1:]).out == fence.output
            case "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(fence.text, PAGE.name, "exec"), program)  # noqa: S102 - it is ours
                assert printed.getvalue() == fence.output
            case _:
                assert fence.language == "text"
    program["store"].close()
    assert (kinds.count("xml"), kinds.count("console"), kinds.count("python")) == (1, 1, 4)


def test_every_code_that_an_error_has_stands_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    with pytest.raises(InvalidModel) as caught:
        process_tools.tools_of(b"<a/>")
    assert caught.value.code is None
    for code in (process_tools.NOT_FOUND, process_tools.INVALID_DEFINITION):
        assert f"| `{code}` |" in page


def test_the_page_names_each_rule_with_its_level() -> None:
    rows = re.findall(
        r"^\| `(agent\w+)`(?: \*)? \| (\w+) \|", PAGE.read_text("utf-8"), re.MULTILINE
    )
    warnings = {rule for rule in get_args(Rule) if rule.startswith("agentTool")}
    assert {rule: level == "warning" for rule, level in rows} == {
        rule: rule in warnings for rule in get_args(Rule)
    }
