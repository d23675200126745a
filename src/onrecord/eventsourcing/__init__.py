"""What an application of the `eventsourcing` library names to record in a log of Onrecord's.

Its environment: `PERSISTENCE_MODULE` is `onrecord.eventsourcing.sqlite` or `onrecord.eventsourcing.postgres`,
`ONRECORD_URL` the log, `ONRECORD_TENANT` the tenant if there are several. With
`MAPPER_TOPIC=onrecord.eventsourcing:Mapper` it reads and writes the events of conversations.
"""

from onrecord.adapters.storage.eventsourcing.stored_events import ConversationEvent
from onrecord.adapters.storage.eventsourcing.stored_events import ConversationMapper as Mapper

__all__ = ["ConversationEvent", "Mapper"]
