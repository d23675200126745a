"""Stories as a log has them."""

from __future__ import annotations

from uuid import UUID

from onrecord.domain.log import Told
from tests.factories import OCCURRED_AT, drafted
from tests.projections.happenings import Story

CONVERSATION = UUID(int=4711)


def recorded(story: Story, conversation_id: UUID = CONVERSATION) -> list[Told]:
    """The events of a story, recorded a second after each other."""
    return [
        Told(
            conversation_id=conversation_id,
            version=version,
            event_id=new.event_id.bytes,
            type=new.type,
            schema_version=new.schema_version,
            recorded_at=OCCURRED_AT + version * 1_000_000,
            body=new.body,
        )
        for version, event in story.events
        for new in [drafted(event, conversation_id)]
    ]
