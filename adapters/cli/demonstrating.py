"""`onrecord demo`: the tour, or a talk with the real services."""

from __future__ import annotations

from onrecord.adapters.demo import live as services
from onrecord.adapters.demo import story
from onrecord.adapters.demo.story import Telling


def demo(telling: Telling, *, live: bool) -> bool:
    """Tell the demo, or talk to the real services; whether all came out as it must."""
    if live:
        return services.tell_live(telling)
    story.tell(telling)
    return True
