"""Time and cost: which response and which call took most, from the times that the record has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord import AssistantCall
from onrecord.adapters.page.conversation.time_tables import (
    MOST,
    extremes_of,
    ranked_calls,
    ranked_responses,
    totals_of,
)
from onrecord.adapters.page.conversation.times import Growth, Times, times_of
from onrecord.adapters.page.conversation.waterfall import BARS, Waterfall, waterfall_of
from onrecord.domain.content import Native, Text, ToolCall, ToolResult
from onrecord.domain.events import (
    Event,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.log import RecordedEvent
from onrecord.domain.request_template import Template
from onrecord.projections.views.usage import Prices, prices_in
from tests.adapters.service.served import served
from tests.factories import drafted

API = "anthropic-messages"
DAY = 86_400_000_000
SECOND = 1_000_000
PRICES = prices_in(
    {"models": {"sonnet": {"input": Decimal(3), "output": Decimal(15), "cached_input": Decimal(1)}}}
)


class Story:
    """Events of a conversation, each at a second by the log's clock."""

    def __init__(self, *, late: int = 0) -> None:
        self.events = list[RecordedEvent]()
        self._late = late

    def at(self, second: float, event: Event, exchange: int = 1) -> UUID:
        moment = DAY + round(second * SECOND)
        new = drafted(event, UUID(int=1), event_id=uuid7(), occurred_at=moment)
        version = len(self.events) + 1
        self.events.append(
            RecordedEvent(
                shard=0,
                position=version,
                conversation_id=UUID(int=1),
                version=version,
                exchange=exchange,
                event_id=new.event_id,
                type=new.type,
                schema_version=new.schema_version,
                recorded_at=2 * DAY + version if self._late else moment,
                header=new.header,
                digest=b"",
                leaf=b"",
                salt=new.salt,
                body=new.body,
            )
        )
        return new.event_id

    def ask(self, second: float, exchange: int = 1) -> UUID:
        template = Template(spans=(), sha256="00" * 32, size=10)
        sent = RequestSent(api=API, endpoint="/v1/messages", model="sonnet", template=template)
        return self.at(second, sent, exchange)

    def answer(
        self,
        second: float,
        request: UUID,
        read: int,
        wrote: int,
        calls: Sequence[str] = (),
        exchange: int = 1,
    ) -> None:
        response = uuid4()
        for index, name in enumerate(calls):
            content = ToolCall(id=name, name=name, arguments={})
            self.at(
                second,
                ToolCallRecorded(
                    response=response, index=index, call_id=name, name=name, content=content
                ),
            )
        envelope = {"usage": {"cache_read_input_tokens": 100}}
        self.at(
            second,
            ResponseCompleted(
                response=response,
                request=request,
                api=API,
                model="sonnet",
                stop_reason="end_turn",
                envelope=envelope,
                input_tokens=read,
                output_tokens=wrote,
            ),
            exchange,
        )

    def record_result(self, second: float, name: str, text: str, *, is_error: bool = False) -> None:
        content = ToolResult(call_id=name, content=(Text(text=text),))
        self.at(second, ToolResultRecorded(call_id=name, content=content, is_error=is_error))

    def times(self, prices: Prices = PRICES) -> Times:
        return times_of(self.events, prices)


def round_of_two(*, late: int = 0) -> Story:
    """Given: a response of 2 s calls two tools, of 5 s and 1 s; the next response takes 4 s."""
    story = Story(late=late)
    story.answer(2, story.ask(0), 1_000, 50, ["slow", "large"])
    story.record_result(3, "large", "x" * 5_000, is_error=True)
    story.record_result(7, "slow", "found")
    story.answer(12, story.ask(8), 3_500, 20)
    return story


def test_a_call_takes_until_its_result_and_a_response_from_its_request_to_its_end() -> None:
    found = round_of_two().times()
    assert [(each.name, each.duration) for each in found.calls] == [
        ("slow", 5 * SECOND),
        ("large", 1 * SECOND),
    ]
    assert [each.duration for each in found.responses] == [2 * SECOND, 4 * SECOND]
    totals = totals_of(found)
    assert (totals.elapsed, totals.answering, totals.calling) == (
        *(12 * SECOND, 6 * SECOND, 6 * SECOND),
    )
    assert (totals.calls, totals.failed, totals.responses, totals.with_tokens) == (2, 1, 2, 2)


def test_what_an_import_brought_has_the_times_of_its_writer() -> None:
    live, brought = round_of_two().times(), round_of_two(late=1).times()
    assert not live.is_later
    assert brought.is_later
    assert [each.duration for each in brought.calls] == [each.duration for each in live.calls]


def test_what_was_recorded_at_one_go_says_nothing_of_how_long_it_took() -> None:
    story, response = Story(), uuid4()
    request = story.ask(0)
    native = Native(api=API, value={"type": "server_tool_use", "name": "web_search", "input": {}})
    story.at(
        3,
        ServerToolCallRecorded(
            response=response, index=0, call_id="s", name="web_search", content=native
        ),
    )
    gave = Native(api=API, value={"type": "web_search_tool_result", "content": []})
    story.at(3, ServerToolResultRecorded(response=response, index=1, call_id="s", content=gave))
    story.at(
        3,
        ResponseInterrupted(response=response, request=request, api=API, reason="cut"),
    )
    found = story.times()
    (call,), (cut,) = found.calls, found.responses
    assert (call.kind, call.status, call.duration) == ("server tool", "done", None)
    assert (cut.is_whole, cut.ending, cut.model) == (False, "cut", "sonnet")
    assert (cut.usage, cut.cost, cut.duration) == (None, None, 3 * SECOND)


def test_a_response_costs_what_the_prices_of_the_caller_say_and_nothing_without_them() -> None:
    first, second = round_of_two().times().responses
    assert first.cost == Decimal(900 * 3 + 100 * 1 + 50 * 15) / SECOND
    totals = totals_of(round_of_two().times())
    assert totals.cost == (first.cost or 0) + (second.cost or 0)
    assert (totals.cached_tokens, totals.unpriced) == (200, 0)
    free = totals_of(round_of_two().times(Prices()))
    assert (free.cost, free.unpriced) == (None, 2)


def test_a_call_tells_how_much_more_the_next_response_read_and_with_how_many_others() -> None:
    story = round_of_two()
    slow, large = story.times().calls
    assert slow.growth == large.growth == Growth(tokens=2_500, calls=2)
    assert (large.size or 0) > 5_000 > (slow.size or 0)
    story.answer(20, story.ask(19), 3_500, 1, ["open"])
    story.answer(22, story.ask(21), 9_000, 1)
    assert story.times().calls[2].growth is None, "it has no result that could be read"


def test_tables_have_the_most_first_and_what_is_not_known_last() -> None:
    story = round_of_two()
    story.answer(20, story.ask(19), 100, 1, ["open"])
    found = story.times()
    by_time, by_size = ranked_calls(found.calls, "time"), ranked_calls(found.calls, "size")
    assert [each.name for each in by_time.entries] == ["slow", "large", "open"]
    assert [each.name for each in by_size.entries] == ["large", "slow", "open"]
    by_cost = ranked_responses(found.responses, "cost")
    costs = [each.cost or Decimal() for each in by_cost.entries]
    assert costs == sorted(costs, reverse=True)
    assert ranked_calls(found.calls, "cost").by == "time", "a call has no price"
    extremes = extremes_of(found)
    assert extremes.slowest_call == by_time.entries[0]
    assert extremes.heaviest_call == found.calls[0], "of two that are alike the first one"
    assert extremes.dearest_response == by_cost.entries[0]
    nothing = extremes_of(Story().times())
    assert (nothing.slowest_call, nothing.dearest_response) == (None, None)
    many = [found.calls[0]] * (MOST + 1)
    assert (len(ranked_calls(many, "time").entries), ranked_calls(many, "time").count) == (200, 201)


def long_story(exchanges: int, calls: int) -> Times:
    story = Story()
    for exchange in range(1, exchanges + 1):
        for number in range(calls):
            name = f"{exchange}.{number}"
            content = ToolCall(id=name, name=name, arguments={})
            call = ToolCallRecorded(call_id=name, name=name, content=content)
            story.at(100 * exchange + number, call, exchange)
    return story.times()


def versions(waterfall: Waterfall) -> list[int]:
    return [bar.version for group in waterfall.groups for bar in group.bars]


@pytest.mark.parametrize(("exchanges", "calls"), [(1, 250), (30, 7), (3, 120)])
def test_every_bar_is_on_some_stretch_forward_and_backward(exchanges: int, calls: int) -> None:
    found = long_story(exchanges, calls)
    shown, at = list[int](), 1
    while True:
        stretch = waterfall_of(found, at)
        assert 0 < len(versions(stretch)) <= BARS
        shown += versions(stretch)
        if stretch.later is None:
            break
        at = stretch.later
    assert shown == list(range(1, exchanges * calls + 1))
    before, last = set(versions(stretch)), stretch
    while last.earlier is not None:
        last = waterfall_of(found, last.earlier)
        before |= {*versions(last)}
    assert before == {*shown}


def test_exchanges_begin_at_the_left_and_have_one_scale() -> None:
    story = round_of_two()
    story.answer(106, story.ask(100, 2), 10, 1, exchange=2)
    first, second = waterfall_of(story.times()).groups
    assert [bar.x for bar in first.bars] == ["0.00%", "16.67%", "16.67%", "66.67%"]
    assert [bar.width for bar in first.bars] == ["16.67%", "41.67%", "8.33%", "33.33%"]
    (later,) = second.bars
    assert (later.x, later.width) == ("0.00%", "50.00%")
    assert [bar.has_failed for bar in first.bars] == [False, False, True, False]


class Tags(HTMLParser):
    """The elements of a page: names and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found = list[tuple[str, dict[str, str | None]]]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


HOSTILE = "</text><script>alert(1)</script>\u202e"


def test_the_page_links_each_bar_and_runs_nothing_of_what_a_name_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONRECORD_PRICES", raising=False)
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with onrecord.connect(url) as store:
        chat = store.conversation("a/b")
        chat.user("Go on.")
        chat.assistant("", calls=[AssistantCall(HOSTILE, {}, id="c1")])
        chat.tool_result("c1", "done")
    with served(url) as page:
        text = page.ask("GET", "/c/a%2Fb/times").data.decode()
        tags = Tags(text).found
        names = [name for name, _ in tags]
        assert (names.count("svg"), names.count("rect")) == (1, 4), "a call, a response"
        scripts = [str(each.get("src")) for name, each in tags if name == "script"]
        assert all(each.startswith("/page/static/") for each in scripts)
        assert "\u202e" not in text
        assert not [each for _, each in tags if "style" in each]
        (link,) = re.findall(r'<a class="tool" href="([^"]+)"', text)
        assert re.fullmatch(r"/c/a%2Fb\?at=(\d+)#v\1", link)
        assert "ONRECORD_PRICES" in text, "it says how to name prices"
        assert "Cost" not in text
        assert page.ask("GET", "/c/a%2Fb/times?by=beauty").status == 422
        assert page.ask("GET", "/c/none/times").status == 404
        assert "1 tool call" in page.ask("GET", "/c/a%2Fb/totals").data.decode()
        (tmp_path / "prices.toml").write_text("[models.x]\ninput = -1\noutput = 1\n")
        monkeypatch.setenv("ONRECORD_PRICES", str(tmp_path / "prices.toml"))
        assert "cannot be read" in page.ask("GET", "/c/a%2Fb/times").data.decode()


def test_a_conversation_tells_beside_each_call_and_response_what_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.toml").write_text("[models.sonnet]\ninput = 3000\noutput = 1\n")
    monkeypatch.setenv("ONRECORD_PRICES", str(tmp_path / "prices.toml"))
    url, response = f"sqlite:///{tmp_path / 'log.db'}", uuid4()
    template = Template(spans=(), sha256="00" * 32, size=10)
    sent = RequestSent(api=API, endpoint="/v1/messages", model="sonnet", template=template)
    content = ToolCall(id="c1", name="look", arguments={})
    gave = ToolResult(call_id="c1", content=(Text(text="found"),))
    with onrecord.connect(url) as store:
        chat = store.conversation("priced")
        chat.user("Go on.")
        chat.log.append(sent)
        chat.log.append(
            ToolCallRecorded(
                response=response, index=0, call_id="c1", name="look", content=content
            ),
            ResponseCompleted(
                response=response,
                api=API,
                model="sonnet",
                envelope={"usage": {"cache_read_input_tokens": 7}},
                input_tokens=1_000,
                output_tokens=0,
            ),
        )
        chat.log.append(ToolResultRecorded(call_id="c1", content=gave, is_error=True))
    with served(url) as page:
        text = page.ask("GET", "/c/priced").data.decode()
        call, ended = (
            text[text.index(f'id="v{version}"') :].partition("</article>")[0] for version in (4, 5)
        )
        assert re.search(r"took [0-9.]+ (µs|ms|s)<", call)
        assert "7 read from a cache" in ended
        assert "cost $3.00" in ended
        assert 'data-fragment="/c/priced/totals"' in text
        totals = page.ask("GET", "/c/priced/totals").data.decode()
        assert ("$3.00" in totals, "1 failed" in totals) == (True, True)
