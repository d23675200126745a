"""Operations on the page: who sees them, and how what is parked is tried again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

import pytest
import urllib3

from onrecord.adapters.page.lists.operations import shown_operations
from onrecord.adapters.views.ports import Parked, ViewStatus, Workforce
from tests.adapters.page.test_proof import words
from tests.adapters.page.test_visitors import FORM, OWN
from tests.adapters.service.keys import OTHER, TENANT, Keys
from tests.adapters.service.served import Served, served
from tests.adapters.views.sqlite_places import Fragile, opened
from tests.factories import TENANT as OWNER


@pytest.fixture
def parked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, UUID]]:
    """A page, and a conversation that waits in the view `audit` behind its second event."""
    monkeypatch.setenv("ONRECORD_TENANT", str(OWNER))
    with closing(opened(tmp_path)) as store:
        conversation = store.said("Hello", "Hi")
        store.ticking.time *= 2  # Not due for long.
        store.page(Fragile(conversations={conversation}))
    with served(f"sqlite:///{tmp_path}/log.db") as page:
        yield page, conversation


def retried(
    page: Served, fields: dict[str, str], headers: dict[str, str] = FORM | OWN
) -> urllib3.BaseHTTPResponse:
    return page.ask(
        "POST", "/operations/retry", body=urlencode(fields).encode(), headers=dict(headers)
    )


@pytest.mark.parametrize("names_it", [True, False])
def test_a_parked_event_is_told_and_tried_again(
    parked: tuple[Served, UUID], *, names_it: bool
) -> None:
    page, conversation = parked
    answer = page.ask("GET", "/operations")
    assert "Broken at sqlite_places.py" in words(answer)
    assert f'href="/c/{conversation}?at=2#v2"'.encode() in answer.data
    fields = {"view": "audit", "conversation": str(conversation) if names_it else ""}
    done = retried(page, fields)
    assert (done.status, done.headers["location"]) == (303, "/operations?retried=1")
    text = words(page.ask("GET", done.headers["location"]))
    assert "1 parked conversation tried again." in text
    assert "Nothing is parked." in text


def test_another_site_and_a_wrong_form_have_nothing_tried_again(
    parked: tuple[Served, UUID],
) -> None:
    page, _ = parked
    crossed = retried(page, {"view": "audit"}, FORM | {"sec-fetch-site": "cross-site"})
    assert crossed.status == 403
    assert retried(page, {"view": "audit", "conversation": "x"}).status == 422
    assert retried(page, {"view": "none"}).status == 422
    assert "Broken at sqlite_places.py" in words(page.ask("GET", "/operations"))


def test_only_a_key_to_operate_sees_operations_and_the_way_to_them() -> None:
    with served(keyring=Keys()) as page:
        for key in ("reader", "writer"):
            refused = page.ask("GET", "/operations", key=key)
            assert refused.status == 403
            assert b"this needs the role to operate" in refused.data
            assert b'href="/operations"' not in page.ask("GET", "/", key=key).data
        body = urlencode({"view": "audit"}).encode()
        refused = page.ask("POST", "/operations/retry", body=body, key="reader", headers=FORM | OWN)
        assert refused.status == 403
        assert b'href="/operations"' in page.ask("GET", "/", key="operator").data
        assert page.ask("GET", "/operations", key="operator").status == 200


def test_what_is_parked_of_other_tenants_is_only_counted() -> None:
    status = ViewStatus("audit", 1, 1, 7, 9, 2)
    events = [
        Parked("audit", 1, tenant, tenant, 0, 2, 2, "message.recorded", "Broken", "why", 1, 5, 7)
        for tenant in (TENANT, OTHER)
    ]
    page = shown_operations([status], events, Workforce(1, 2, 2), TENANT)
    assert [event.tenant for event in page.parked] == [TENANT]
    (view,) = page.views
    assert (view.parked, view.parked_elsewhere, view.workers, view.state) == (1, 1, 1, "")
    assert page.workers == "1 worker at work, on 2 of 2 parts of the log"
