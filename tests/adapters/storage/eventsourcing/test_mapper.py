"""What the library writes through our mapper is what Onrecord writes, and the other way round."""

from pathlib import Path
from uuid import UUID, uuid4

from eventsourcing.application import Application
from eventsourcing.domain import DomainEvent, datetime_now_with_tzinfo
from eventsourcing.utils import get_topic, resolve_topic

from onrecord.adapters.storage.eventsourcing.stored_events import (
    ConversationEvent,
    ConversationMapper,
)
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from tests.factories import answer, appending, prompt, started, tool_call, tool_result
from tests.ledger import verified_log

EVENTS = (started(), prompt(), tool_call("c1"), tool_result("c1"), answer())


def application(path: Path) -> Application[UUID]:
    return Application(
        {
            "PERSISTENCE_MODULE": "onrecord.eventsourcing.sqlite",
            "MAPPER_TOPIC": "onrecord.eventsourcing:Mapper",
            "ONRECORD_URL": f"sqlite:///{path}",
        }
    )


def test_the_mapper_has_the_topic_that_an_environment_names() -> None:
    assert get_topic(ConversationMapper) == "onrecord.eventsourcing:Mapper"
    assert resolve_topic("onrecord.eventsourcing:Mapper") is ConversationMapper


def test_the_library_reads_what_onrecord_wrote(tmp_path: Path) -> None:
    conversation = uuid4()
    store = open_sqlite(tmp_path / "log.db")
    store.append([appending(conversation, *EVENTS)])
    store.close()
    app = application(tmp_path / "log.db")
    assert list(app.events.get(conversation)) == [
        ConversationEvent(conversation, version, event)
        for version, event in enumerate(EVENTS, start=1)
    ]
    app.close()


def test_onrecord_reads_what_the_library_wrote(tmp_path: Path) -> None:
    conversation = uuid4()
    app = application(tmp_path / "log.db")
    app.events.put(
        [
            ConversationEvent(conversation, version, event)
            for version, event in enumerate(EVENTS, start=1)
        ]
    )
    app.close()
    store = open_sqlite(tmp_path / "log.db")
    assert tuple(event.event() for event in store.read(conversation)) == EVENTS
    assert [event.version for event in verified_log(store)] == [1, 2, 3, 4, 5]
    head = store.head(conversation)
    assert (head.exchange, dict(head.open_calls)) == (1, {})
    store.close()


def test_events_of_other_kinds_are_mapped_as_the_library_maps_them(tmp_path: Path) -> None:
    app = application(tmp_path / "log.db")
    event = DomainEvent(
        originator_id=uuid4(), originator_version=1, timestamp=datetime_now_with_tzinfo()
    )
    app.events.put([event])
    assert list(app.events.get(event.originator_id)) == [event]
    app.close()
