"""Stories as a log has them."""

from __future__ import annotations

from uuid import UUID

from hansard.domain.log import RecordedEvent
from tests.factories import OCCURRED_AT, drafted
from tests.projections.happenings import Story

CONVERSATION = UUID(int=4711)


def recorded(story: Story, conversation_id: UUID = CONVERSATION) -> list[RecordedEvent]:
    """The events of a story, recorded a second after each other."""
    return [
        RecordedEvent(
            shard=0,
            position=version,
            conversation_id=conversation_id,
            version=version,
            exchange=0,
            event_id=new.event_id,
            type=new.type,
            schema_version=new.schema_version,
            recorded_at=OCCURRED_AT + version * 1_000_000,
            header=new.header,
            digest=b"",
            leaf=b"",
            salt=new.salt,
            body=new.body,
        )
        for version, event in story.events
        for new in [drafted(event, conversation_id)]
    ]
