"""Files from anyone: none of them costs more than it should, and none crashes."""

import os
import threading
from pathlib import Path

import pytest

from onrecord.adapters.bpmn.model import DEEPEST, LARGEST, model_of, tree_of
from onrecord.adapters.bpmn.process_tools import tools_of
from onrecord.domain.errors import InvalidModel
from tests.adapters.bpmn.models import BPMN, ad_hoc, definitions, desk, node, process, task
from tests.patience import PATIENCE

ENTITY = f'<!DOCTYPE d [<!ENTITY e "x">]><b:definitions xmlns:b="{BPMN}">&e;</b:definitions>'
LAUGHS = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 10))
BOMB = (
    f'<!DOCTYPE d [<!ENTITY l0 "ha">{LAUGHS}]><b:definitions xmlns:b="{BPMN}">&l9;</b:definitions>'
)
SECRET = f"""<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/hostname">]>
<b:definitions xmlns:b="{BPMN}">&e;</b:definitions>"""
REMOTE = f'<!DOCTYPE d SYSTEM "http://127.0.0.1:9/d.dtd"><b:definitions xmlns:b="{BPMN}"/>'
PARAMETER = f"""<!DOCTYPE d [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]>
<b:definitions xmlns:b="{BPMN}"/>"""


@pytest.mark.parametrize("text", [ENTITY, BOMB, SECRET, REMOTE, PARAMETER, "<!DOCTYPE d><d/>"])
def test_document_types_and_entities_are_refused(text: str) -> None:
    with pytest.raises(InvalidModel, match="declares a document type or entities"):
        tree_of(text.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"no XML",
        b"<a>",
        b"<a></b>",
        b"<a/><b/>",
        b"<a b='1' b='2'/>",
        b"<x:a/>",
        b"<a>&undefined;</a>",
        b"<a>\0</a>",
        b"\0\0\0\0",
        b"<a>\xff\xfe</a>",
        b'<?xml version="1.0" encoding="no-such"?><a/>',
        b'<?xml version="1.0" encoding="shift_jis"?><a/>',
        b'{"no": "XML"}',
        desk(task("A"))[:-20],
    ],
)
def test_what_is_no_xml_is_said(data: bytes) -> None:
    with pytest.raises(InvalidModel, match="the model is not XML"):
        model_of(data)


def test_another_root_is_no_model() -> None:
    for data in (b"<html/>", b'<definitions xmlns="urn:other"/>', task("A").encode()[:0] + b"<d/>"):
        with pytest.raises(InvalidModel, match="not a BPMN model: its root is"):
            tools_of(data)


def test_the_depth_of_elements_has_a_limit() -> None:
    assert tree_of(b"<a>" * DEEPEST + b"</a>" * DEEPEST).tag == "a"
    for depth in (DEEPEST + 1, 10_000):
        with pytest.raises(InvalidModel, match="nests elements more than 200 deep"):
            tree_of(b"<a>" * depth + b"</a>" * depth)


def test_sub_processes_may_be_as_deep_as_elements() -> None:
    nested = node("task", "Last")
    for depth in range(DEEPEST - 5):
        nested = node("subProcess", f"S{depth}", nested)
    model = definitions(process(ad_hoc(nested)))
    assert [tool.name for tool in tools_of(model).tools] == [f"S{DEEPEST - 6}"]


def test_a_file_that_is_too_large_is_read_only_so_far(tmp_path: Path) -> None:
    """A pipe that never ends: whoever reads all of it never returns."""
    pipe = tmp_path / "endless.bpmn"
    os.mkfifo(pipe)

    def pour() -> None:
        with pipe.open("wb") as file:
            try:
                while True:
                    file.write(b"<a>" * 100_000)
            except BrokenPipeError:
                return

    pouring = threading.Thread(target=pour, daemon=True)
    pouring.start()
    with pytest.raises(InvalidModel, match="the model is larger than 8 MiB"):
        tools_of(pipe)
    pouring.join(timeout=PATIENCE)
    assert not pouring.is_alive()


def test_bytes_that_are_too_many_are_not_read() -> None:
    with pytest.raises(InvalidModel, match="the model is larger than 8 MiB"):
        tools_of(b" " * (LARGEST + 1))


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.bpmn"):
        with pytest.raises(InvalidModel, match="the model cannot be read"):
            tools_of(path)


def test_other_encodings_are_read() -> None:
    text = desk(task("A", "=fromAi(toolCall.größe)")).decode()
    declared = '<?xml version="1.0" encoding="{}"?>'
    for name, codec in (("utf-16", "utf-16"), ("iso-8859-1", "latin-1")):
        data = (declared.format(name) + text).encode(codec)
        assert list(tools_of(data).tools[0].input_schema["properties"]) == ["größe"]


def test_texts_keep_what_comments_stand_between() -> None:
    documented = node(
        "task", "A", "<b:documentation>What <!-- no --> it <?p i?>does</b:documentation>"
    )
    assert tools_of(desk(documented)).tools[0].description == "What  it does"
