"""What an application of the `eventsourcing` library names to record in a log of Onrecord's.

Its environment: `PERSISTENCE_MODULE` is `onrecord.eventsourcing.sqlite` or `onrecord.eventsourcing.postgres`,
`ONRECORD_URL` the log, `ONRECORD_TENANT` the tenant if there are several. With
`MAPPER_TOPIC=onrecord.eventsourcing:Mapper` it reads and writes the events of conversations. `ProjectionSink`
lets a projection of the library be fed by a store of Onrecord's, as `store.follow` does. `save_together`
saves aggregates and records in a conversation, in one transaction; `save_together_async` is awaited.
"""

from onrecord.adapters.storage.eventsourcing.joint_saves import (
    SavedTogether,
    save_together,
    save_together_async,
)
from onrecord.adapters.storage.eventsourcing.projections import ProjectionSink
from onrecord.adapters.storage.eventsourcing.stored_events import ConversationEvent
from onrecord.adapters.storage.eventsourcing.stored_events import ConversationMapper as Mapper

__all__ = [
    "ConversationEvent",
    "Mapper",
    "ProjectionSink",
    "SavedTogether",
    "save_together",
    "save_together_async",
]
