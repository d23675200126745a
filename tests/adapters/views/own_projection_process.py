"""A process that follows a slow projection of one's own, until it is killed."""

from __future__ import annotations

import sys
import time

import onrecord
from tests.adapters.views.own_projections import Heard


def main() -> None:
    projection = Heard(after=lambda _: time.sleep(0.02))
    with onrecord.connect(sys.argv[1]) as store, store.follow(projection) as following:
        print("following", flush=True)
        following.wait()
        sys.stdin.readline()


if __name__ == "__main__":
    main()
