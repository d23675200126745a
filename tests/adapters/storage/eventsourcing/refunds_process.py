"""Grants a refund in one transaction with a conversation, up to a place at which it waits for ever.

`python -m tests.adapters.storage.eventsourcing.refunds_process URL ID PLACE`: it prints a line when it is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch
from uuid import UUID

import onrecord
from onrecord.adapters.storage.eventsourcing import joint_saves, recorders
from onrecord.adapters.storage.eventsourcing.stored_events import must_be_recorded
from tests.adapters.storage.eventsourcing.refunds import Refunds, environment

PLACES = ("before", "appended", "after")


def main() -> None:
    """Grant it."""
    url, refund_id, place = sys.argv[1:]

    def wait() -> None:
        print("there", flush=True)
        sys.stdin.readline()

    def appended(verdicts: Any) -> list[int]:
        wait()
        return must_be_recorded(verdicts)

    with onrecord.connect(url) as store:
        refunds = Refunds(env=environment(url))
        if place == "appended":
            patch.object(recorders, "must_be_recorded", appended).start()
        if place == "before":
            made = vars(joint_saves)["_Appends"]
            patch.object(joint_saves, "_Appends", waiting(made, wait)).start()
        try:
            refunds.grant(UUID(refund_id), "ana", store.conversation("support"))
        except Exception as error:
            print(type(error).__name__, flush=True)
            raise SystemExit(1) from error
        if place == "after":
            wait()
        print("granted", flush=True)
        refunds.close()


def waiting(made: Callable[..., Any], wait: Callable[[], None]) -> Callable[..., Any]:
    """Return what makes the same, and waits before: nothing is appended then."""

    def make(*parts: Any) -> Any:
        wait()
        return made(*parts)

    return make


if __name__ == "__main__":
    main()
