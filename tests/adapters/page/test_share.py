"""A file to share: what is hidden is not in its bytes, and nothing in it runs or loads."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html import escape, unescape
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import pytest
from markupsafe import escape as markup

import onrecord
from onrecord import AssistantCall
from onrecord.adapters.page.conversation.events import ShownEvent, ShownRow
from onrecord.adapters.page.share import copying, routes, share
from onrecord.adapters.page.share.hidable import Hidable
from onrecord.adapters.page.share.hiding import Hiding, Nature, Redactions, shared
from onrecord.adapters.service.problems import Problem
from onrecord.domain.content import Reasoning
from onrecord.domain.events import ReasoningRecorded
from onrecord.projections.history.timeline import Row
from onrecord.projections.history.timeline_text import Mark, Speaker
from tests.adapters.page.test_conversation_page import HOSTILE, PNG, Tags
from tests.adapters.service.served import Served, served

PATH = "/c/desk%2Flopez"
CODE = 'Zx"9&<ü>'
"""A word that each way of escaping spells otherwise."""

OWN_PAGE = {
    "content-type": "application/x-www-form-urlencoded",
    "sec-fetch-site": "same-origin",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("share")
    (folder / "badge-photo.png").write_bytes(PNG)
    url = f"sqlite:///{folder / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("desk/lopez", actor="Ana Lopez")
        chat.user(f"{HOSTILE} The code is {CODE}.", documents=[folder / "badge-photo.png"])
        response = uuid4()
        thought = Reasoning(text="I ponder quietly.")
        chat.log.append(ReasoningRecorded(response=response, index=0, content=thought))
        chat.assistant("I look.", calls=[AssistantCall("look", {"code": CODE}, id="c1")])
        chat.tool_result("c1", f"Found it for ANA\u00a0LOPEZ: shelf-thirteen, {json.dumps(CODE)}")
        chat.assistant("Take it back?", calls=[AssistantCall("look", {"again": 1}, id="c2")])
        chat.tool_result("c2", "redacted-result")
        chat.redact(chat.head().version, "wrong customer")
        chat.user("What did you say?")
        chat.user("regretted-prompt")
        chat.redact(chat.head().version)
    return url


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[Served]:
    with served(url) as answering:
        yield answering


def made(page: Served, path: str = PATH, **fields: str) -> str:
    """Return a file that a form asks for."""
    body = urlencode(fields).encode()
    answer = page.ask("POST", f"{path}/share", headers=OWN_PAGE, body=body)
    assert answer.status == 200, answer.data.decode()
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    return answer.data.decode()


def row(speaker: Speaker, kind: str, marks: tuple[Mark, ...] = (), *, is_item: bool = False) -> Row:
    return Row(1, 1, 0, speaker, kind, "", marks=marks, is_item=is_item)


def spellings(word: str) -> set[str]:
    as_json = {json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(each)[1:-1] for each in as_json}
    plain = {word, quote(word), *as_json, *twice}
    in_html = {form for each in plain for form in (escape(each), str(markup(each)))}
    return {each.casefold() for each in (*plain, *in_html, *map(escape, in_html))}


def test_what_is_hidden_is_in_the_file_in_no_spelling(page: Served) -> None:
    whole = made(page).casefold()
    cases = {
        "reasoning": ("ponder quietly",),
        "results": ("shelf-thirteen",),
        "documents": ("badge-photo", base64.b64encode(PNG).decode()),
        "people": ("ana lopez", "ana\u00a0lopez"),
    }
    for field, pieces in cases.items():
        text = made(page, **{field: "true"}).casefold()
        for piece in pieces:
            assert piece.casefold() in whole, (field, piece)
            assert not {each for each in spellings(piece) if each in text}, (field, piece)
        assert "pieces of it are not in this file" in text
    assert len({each for each in spellings(CODE) if each in whole}) > 1
    text = made(page, words=f"{CODE}\nLOPEZ\r\nshelf").casefold()
    for piece in (CODE, "lopez", "shelf"):
        assert not {each for each in spellings(piece) if each in text}, piece
        assert piece.casefold() not in unescape(unescape(text)), piece
    assert "thirteen" in text
    assert "data:image" not in text


def test_what_was_redacted_or_erased_gets_into_no_file(page: Served, url: str) -> None:
    text = made(page)
    for piece in ("redacted-result", "regretted-prompt"):
        assert piece not in text
    assert "Redacted in the record: <b>2</b>" in text
    with onrecord.connect(url) as store:
        store.conversation("gone", actor="eve").user("secret")
        gone: UUID = store.get("gone").conversation_id
        store.forget("gone", reason="asked for", actor="ada")
    forgotten = made(page, f"/c/{gone}")
    assert "secret" not in forgotten
    assert "Erased from the record: <b>2</b>" in forgotten


def test_a_file_runs_nothing_and_loads_nothing(page: Served) -> None:
    text = made(page)
    tags = Tags(text).found
    names = {name for name, _ in tags}
    assert not names & {"script", "link", "svg", "iframe", "object", "base", "form", "a"}
    for _, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert (attributes.get("src") or "data:image/png;").startswith("data:image/png;")
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [
        attributes["content"]
        for name, attributes in tags
        if name == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    assert base64.b64encode(PNG).decode() in text
    assert "\u202e" not in text


def test_a_file_says_how_much_is_in_it_and_where_it_ends_early(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = made(page, first="2", last="3")
    assert "2 events of a conversation, from version 2 to 3." in text
    assert "<title>desk/lopez</title>" in text
    assert "shelf-thirteen" not in text
    monkeypatch.setattr(copying, "_MOST_EVENTS", 1)
    assert "It ends early, 1 event before version 3" in made(page, first="2", last="3")


def test_a_picture_without_room_is_missing_and_counted(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "_LARGEST_PICTURE", 10)
    text = made(page)
    assert "data:image" not in text
    assert "Pictures that this file does not hold: <b>1</b>" in text


ROWS: dict[str, Row] = {
    "text": row("assistant", "text"),
    "thinking": row("assistant", "thinking"),
    "part": row("assistant", "unfinished block", marks=("interrupted",)),
    "result": row("provider", "result"),
    "opaque": row("assistant", "redacted_thing", marks=("opaque",)),
    "unread": row("record", "later.event", marks=("unread",)),
    "item": row("record", "item", is_item=True),
    "picture": row("user", "image"),
    "found": row("record", "extracted"),
    "signal": row("outside", "signal mail"),
}
ALWAYS = {"unread": "unclear"}
UNCLEAR = {**ALWAYS, "opaque": "unclear", "item": "unclear"}


@pytest.mark.parametrize(
    ("hiding", "hidden"),
    [
        (Hiding(), ALWAYS),
        (Hiding(words=("nothing",)), UNCLEAR),
        (
            Hiding(frozenset({Hidable.REASONING})),
            {**UNCLEAR, "thinking": "reasoning", "part": "reasoning"},
        ),
        (
            Hiding(frozenset({Hidable.RESULTS})),
            {**UNCLEAR, "result": "results", "found": "results"},
        ),
        (
            Hiding(frozenset({Hidable.DOCUMENTS})),
            {
                **UNCLEAR,
                **dict.fromkeys(("opaque", "part", "picture", "found", "signal"), "documents"),
            },
        ),
    ],
)
def test_a_piece_is_hidden_where_it_is_in_doubt(hiding: Hiding, hidden: dict[str, str]) -> None:
    rows = tuple(ShownRow(each, "other", f"said {name}") for name, each in ROWS.items())
    events = [ShownEvent(1, 0, rows, ())]
    hides_documents = Hidable.DOCUMENTS in hiding.kinds
    natures = {1: Nature(holds_documents=True, is_plain=True)} if hides_documents else {}
    content = shared("key", events, natures, Redactions(), hiding, names=())
    found = dict(zip(ROWS, content.events[0].rows, strict=True))
    reasons = {name: each.hidden for name, each in found.items() if each.hidden is not None}
    if hides_documents:
        hidden = {**hidden, "thinking": "documents", "result": "documents"}
    assert reasons == hidden
    assert all(found[name].text == "" for name in hidden)


def test_one_file_of_a_tenant_is_made_at_once(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = list[int]()

    def ask() -> int:
        return page.ask("POST", f"{PATH}/share", headers=OWN_PAGE, body=b"first=1").status

    def build_file(*_: object) -> None:
        inner.append(ask())
        raise onrecord.InvalidInput("enough")

    monkeypatch.setattr(routes, "build_file", build_file)
    assert (ask(), inner) == (422, [429])
    monkeypatch.undo()
    assert ask() == 200


def test_a_file_ends_between_two_events_once_its_time_is_over() -> None:
    events = [ShownEvent(version, 0, (), ()) for version in (1, 2)]
    with pytest.raises(Problem, match="timed-out"):
        shared("key", routes.in_time(0.0, events), {}, Redactions(), Hiding(), names=())


def test_a_file_says_by_number_at_how_many_places_each_word_stood(page: Served) -> None:
    text = made(page, words="regreted\n\nLOPEZ\npez")
    found = re.findall(r"<li>Word (\d) of the list: <b>(\d) places?</b>", text)
    assert found[0] == ("1", "0")
    assert (found[1][1], found[2][1]) == (found[1][1], found[1][1]) != ("0", "0")
    assert "regreted" not in text
    assert "of the list" not in made(page)


def test_a_name_is_hidden_whole_where_a_word_is_part_of_it() -> None:
    said = "Ada Lovelace met Lovelace Byron, and Ada."
    event = ShownEvent(1, 0, (ShownRow(row("user", "text"), "other", said),), ())
    hiding = Hiding(frozenset({Hidable.PEOPLE}), words=("ada", "Lovelace By"))
    content = shared("key", [event], {}, Redactions(), hiding, names=["Ada Lovelace", "Byron"])
    assert content.events[0].rows[0].text == "[hidden] met [hidden], and [hidden]."
    assert content.hidden == {"words": 3}
    assert content.word_counts == (2, 1)


def test_only_a_page_of_the_service_makes_a_file_of_what_is_there(page: Served) -> None:
    form = page.ask("GET", f"{PATH}/share")
    assert (form.status, 'name="words"' in form.data.decode()) == (200, True)
    body = b"first=1"
    foreign = {**OWN_PAGE, "sec-fetch-site": "cross-site"}
    assert page.ask("POST", f"{PATH}/share", headers=foreign, body=body).status == 403
    wrong = {
        "first=999": 422,
        "first=3&last=2": 422,
        "first=x": 422,
        "other=1": 422,
        "hide=people": 422,
    }
    for fields, status in wrong.items():
        answer = page.ask("POST", f"{PATH}/share", headers=OWN_PAGE, body=fields.encode())
        assert answer.status == status, fields
    many = urlencode({"words": "\n".join(map(str, range(200)))}).encode()
    assert page.ask("POST", f"{PATH}/share", headers=OWN_PAGE, body=many).status == 422
    typed = page.ask(
        "POST", f"{PATH}/share", headers=OWN_PAGE, body=b"first=20&last=3&words=Ana&people=true"
    )
    text = typed.data.decode()
    assert (typed.status, typed.headers["cache-control"]) == (422, "no-store")
    assert "No file was made: there is no event from version 20 to 3." in text
    assert ">Ana</textarea>" in text
    assert 'name="people" value="true" checked' in text
    assert 'name="first" min="1" max=' in text
    assert 'value="20"' in text
    assert page.ask("POST", "/c/nobody/share", headers=OWN_PAGE, body=body).status == 404


def test_words_of_which_none_can_be_seen_make_no_file(page: Served) -> None:
    body = urlencode({"words": "\u200b\r\n\u2060"}).encode()
    answer = page.ask("POST", f"{PATH}/share", headers=OWN_PAGE, body=body)
    assert (answer.status, "content-disposition" in answer.headers) == (422, False)
    assert "nothing that can be seen" in answer.data.decode()
