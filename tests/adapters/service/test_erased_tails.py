"""What was erased is sent by no tail any more, whoever erased it."""

from __future__ import annotations

from onrecord.adapters.app import connect
from tests.adapters.service.served import Served, served
from tests.adapters.service.test_tails import say, tail
from tests.patience import until

SECRET = "the secret"


def resumed_after(service: Served, place: str) -> str:
    """What a tail says that goes on behind a place, up to a prompt that is said now."""
    with tail(service, last=place) as following:
        say(service, "the end", "b")
        found = list[str]()
        for line in following.lines():
            found.append(line)
            if "the end" in line:
                break
    return "\n".join(found)


def test_what_the_log_route_erased_is_sent_to_no_tail(each_service: Served) -> None:
    say(each_service, "first")
    with tail(each_service) as following:
        say(each_service, "seen")
        (seen,) = following.events(1)
        say(each_service, SECRET)
        following.events(1)
        path = f"/v1/log/conversations/{seen['conversation']}/forget"
        assert each_service.ask("POST", path).status == 200
        assert SECRET not in resumed_after(each_service, following.ids[0])


def test_what_another_program_erased_is_sent_to_no_tail(postgres_url: str) -> None:
    with served(postgres_url) as service, connect(postgres_url) as store:
        say(service, "first")
        with tail(service) as following:
            say(service, "seen")
            following.events(1)
            say(service, SECRET)
            following.events(1)
            store.forget("a", reason="asked for", actor="ana")
            assert SECRET not in resumed_after(service, following.ids[0])


def test_what_is_kept_for_tails_goes_when_another_program_erases(postgres_url: str) -> None:
    with served(postgres_url) as service, connect(postgres_url) as store:
        say(service, "first")
        hub = service.service.tails.hub
        with tail(service) as following:
            say(service, SECRET)
            following.events(1)
            before = hub.forgot
            store.forget("a", reason="asked for", actor="ana")
            until(lambda: hub.forgot > before, "that the hub knows of it")
