"""What the library's own test cases do not ask of a subscription to a recorder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from eventsourcing.persistence import Notification, OperationalError, StoredEvent
from eventsourcing.utils import Environment

from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory


@pytest.fixture
def factory(tmp_path: Path) -> SqliteFactory:
    url = f"sqlite:///{tmp_path}/log.db"
    return SqliteFactory(Environment(name="Test", env={"ONRECORD_URL": url}))


def test_closing_the_store_amid_a_read_ends_its_subscriptions(
    factory: SqliteFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = factory.application_recorder()
    recorder.insert_events([StoredEvent(uuid4(), 1, "topic", b"state")])
    read = recorder.select_notifications

    def close_amid(*args: Any, **options: Any) -> Sequence[Notification]:
        if begun:
            factory.close()
        return read(*args, **options)

    begun: list[Notification] = []
    monkeypatch.setattr(recorder, "select_notifications", close_amid)
    with recorder.subscribe() as subscription:
        begun.append(next(subscription))
        assert list(subscription) == []


def test_a_store_that_cannot_be_read_is_an_error_to_its_subscriptions(
    factory: SqliteFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = factory.application_recorder()

    def fail(*args: Any, **options: Any) -> Sequence[Notification]:
        raise OperationalError("the disk is gone")

    monkeypatch.setattr(recorder, "select_notifications", fail)
    with recorder.subscribe() as subscription, pytest.raises(OperationalError, match="disk"):
        next(subscription)
    factory.close()
