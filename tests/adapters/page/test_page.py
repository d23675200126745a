"""The page as the browser asks for it: its headers, its files, its problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from onrecord.adapters.page.static_files import edition, files
from onrecord.adapters.page.words import markdown
from onrecord.adapters.presentation.control_characters import visible
from tests.adapters.service.keys import Keys
from tests.adapters.service.served import Served, served


@pytest.fixture(scope="module")
def page() -> Iterator[Served]:
    with served() as answering:
        answering.ask("POST", "/v1/conversations/support%2F1/prompts", {"text": "Hello"})
        yield answering


def test_nothing_runs_on_a_page_but_its_own_files(page: Served) -> None:
    answer = page.ask("GET", "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= set(policy)
    assert "require-trusted-types-for 'script'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "private, no-cache"
    text = answer.data.decode()
    assert 'href="/c/support%2F1"' in text
    assert "style=" not in text
    assert "onclick=" not in text
    assert text.count("<script") == text.count(
        f'<script type="module" src="/page/static/{edition()}/'
    )


def test_a_page_that_did_not_change_is_not_sent_again(page: Served) -> None:
    tag = page.ask("GET", "/").headers["etag"]
    assert page.ask("GET", "/", headers={"if-none-match": tag}).status == 304


def test_the_files_of_the_page_are_those_that_are_there_and_no_others(page: Served) -> None:
    for name, file in files().items():
        answer = page.ask("GET", f"/page/static/{edition()}/{name}")
        assert (answer.status, answer.data) == (200, file.data)
        assert answer.headers["content-type"].startswith(file.media_type)
    for name in ("other.css", "..%2Fanswers.py", "answers.py", "page.css,other.css"):
        assert page.ask("GET", f"/page/static/{edition()}/{name}").status in (404, 422)


def test_style_sheets_come_as_one_and_scripts_do_not(page: Served) -> None:
    answer = page.ask("GET", f"/page/static/{edition()}/page.css,live.css")
    assert answer.data == files()["page.css"].data + files()["live.css"].data
    for several in ("copy.js,live.js", "page.css,page.css"):
        assert page.ask("GET", f"/page/static/{edition()}/{several}").status == 404


def test_a_browser_keeps_the_files_of_this_release_and_of_no_other(page: Served) -> None:
    kept = page.ask("GET", f"/page/static/{edition()}/live.js").headers["cache-control"]
    assert {"immutable", "public"} < set(kept.split(", "))
    of_another = page.ask("GET", f"/page/static/{'0' * 16}/live.js")
    assert of_another.data == files()["live.js"].data
    assert of_another.headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("path", ["/", "/c/support%2F1", "/c/support%2F1/requests"])
def test_a_page_has_one_style_sheet_and_names_each_module_that_its_scripts_need(
    page: Served, path: str
) -> None:
    text = page.ask("GET", path).data.decode()
    assert text.count('rel="stylesheet"') == 1, "the first frame waits for it"
    named = {*re.findall(rf'="/page/static/{edition()}/(\w+\.js)"', text)}
    needed = {
        needed
        for name in named
        for needed in re.findall(r'from "\./(.+?)";', files()[name].data.decode())
    }
    assert needed <= named, "a module that only another one names is asked for when that is here"


def test_a_problem_on_the_page_is_told_in_html() -> None:
    with served(keyring=Keys()) as keyed:
        answer = keyed.ask("GET", "/", key="nobody")
        assert (answer.status, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
        assert "A key is needed, or is not good." in answer.data.decode()
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert keyed.ask("GET", "/", key="reader").status == 200
        wrong = keyed.ask("GET", "/?limit=%3Cscript%3E", key="reader")
        assert (wrong.status, wrong.headers["cache-control"]) == (422, "no-store")
        assert "<script>" not in wrong.data.decode()


def test_a_tab_stays_one_and_a_backslash_before_a_t_is_none() -> None:
    assert visible("C:\\table\tone\x1b") == "C:\\table\tone\\x1b"


def test_a_table_of_empty_cells_becomes_no_larger_than_its_text() -> None:
    text = "|" + "a|" * 600 + "\n|" + "-|" * 600 + "\n" + "|\n" * 2_000
    assert len(markdown(text)) < 2 * len(text)


def test_the_navigation_says_which_page_is_shown_and_stays_on_a_page_of_an_error(
    page: Served,
) -> None:
    for path in ("/", "/approvals", "/audit", "/usage", "/operations"):
        text = page.ask("GET", path).data.decode()
        assert f'<a href="{path}" aria-current="page">' in text
        assert text.count('aria-current="page"') == 1
    missing = page.ask("GET", "/c/nobody")
    assert missing.status == 404
    assert '<a href="/operations">' in missing.data.decode()


def test_words_and_the_other_filters_of_the_list_combine(page: Served) -> None:
    for key, end in (("open", False), ("ended", True)):
        page.ask("POST", f"/v1/conversations/{key}/prompts", {"text": "Two parcels"})
        if end:
            page.ask("POST", f"/v1/conversations/{key}/end", {})
    both = page.ask("GET", "/?text=parcels").data.decode()
    assert "open, version" in both
    assert "ended, version" in both
    one = page.ask("GET", "/?text=parcels&closed=true").data.decode()
    assert "open, version" not in one
    assert "ended, version" in one
    assert "No conversation matches." in page.ask("GET", "/?text=parcels&model=other").data.decode()


def test_the_list_is_filtered_by_the_day_of_the_last_event(page: Served) -> None:
    """A day begins at midnight in UTC; with words, the days filter what says them, too."""
    today = datetime.now(UTC).date()
    days = {"since": today - timedelta(days=1), "until": today + timedelta(days=2)}
    within = f"since={days['since']}&until={days['until']}"
    outside = f"since={days['until']}&until="
    for filters in (within, f"text=Hello&{within}"):
        answer = page.ask("GET", f"/?{filters}").data.decode()
        assert "/c/support%2F1" in answer
        assert f'name="since" value="{days["since"]}"' in answer
    for filters in (outside, f"text=Hello&{outside}"):
        assert "/c/support%2F1" not in page.ask("GET", f"/?{filters}").data.decode()
    for day in ("0001-01-01", "9999-12-31"):
        assert page.ask("GET", f"/?since={day}&until={day}").status == 200
    assert page.ask("GET", "/?since=monday").status == 422


def test_words_that_cannot_be_looked_for_leave_an_empty_list_that_says_why(page: Served) -> None:
    answer = page.ask("GET", "/?text=%22")
    assert answer.status == 200
    assert "These words cannot be looked for: " in answer.data.decode()
