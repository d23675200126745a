"""A process that follows a slow projection of the library, until it is killed."""

from __future__ import annotations

import sys
import time
from typing import Any

from eventsourcing.persistence import InfrastructureFactory, Tracking
from eventsourcing.utils import Environment

import onrecord
from tests.adapters.storage.eventsourcing.test_projections import (
    InPostgres,
    Prompts,
    postgres_environment,
)


class Slow(InPostgres):
    """Takes its time after each event, in the transaction."""

    def add(self, tracking: Tracking) -> None:
        super().add(tracking)
        time.sleep(0.002)


def main(url: str) -> None:
    module = {"PERSISTENCE_MODULE": "eventsourcing.postgres"}
    environment = Environment("prompts", module | postgres_environment(url))
    recorder: Any = InfrastructureFactory.construct(environment).tracking_recorder(Slow)
    with onrecord.connect(url) as store, store.follow(Prompts(recorder)) as following:
        print("following", flush=True)
        following.wait()
        sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1])
