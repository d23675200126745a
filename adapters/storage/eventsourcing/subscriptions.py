"""The notifications of a recorder as a subscription of the `eventsourcing` library."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from eventsourcing.persistence import (
    ApplicationRecorder,
    Notification,
    OperationalError,
    Subscription,
)

from onrecord.adapters.storage.subscription import PAGE, Wakeups


class NotificationSubscription(Subscription[ApplicationRecorder]):
    """The notifications of a recorder after an id, those to come included; never skips one."""

    def __init__(
        self,
        recorder: ApplicationRecorder,
        wakeups: Wakeups,
        gt: int | None = None,
        topics: Sequence[str] = (),
    ) -> None:
        """Follow a recorder; an append in this process wakes it up, else it polls."""
        super().__init__(recorder=recorder, gt=gt, topics=topics)
        self._wakeups = wakeups
        self._ready: deque[Notification] = deque()

    def stop(self) -> None:
        """End the iteration, from any thread."""
        super().stop()
        self._wakeups.stir()

    def __next__(self) -> Notification:
        """Return the next notification, waiting for it; end the iteration once stopped."""
        while not self._has_been_stopped and not self._wakeups.closed:
            if self._ready:
                return self._ready.popleft()
            self._fetch()
        raise StopIteration

    def _fetch(self) -> None:
        seen = self._wakeups.seen()
        try:
            notifications = self._recorder.select_notifications(
                self._last_notification_id, PAGE, topics=self._topics, inclusive_of_start=False
            )
        except OperationalError:
            if self._wakeups.closed:  # While this thread was reading: the iteration ends.
                return
            raise
        if not notifications:
            self._wakeups.wait(seen, lambda: self._has_been_stopped)
            return
        self._ready.extend(notifications)
        self._last_notification_id = notifications[-1].id
