"""Which request the page shows at a version: the one that was sent, unless another one is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.page.requests.option_words import Difference, difference, option_words
from onrecord.adapters.page.requests.request_reading import (
    Wish,
    content_of,
    is_long,
    read_request,
)
from onrecord.adapters.page.requests.request_view import RequestView, digest_of
from onrecord.adapters.page.requests.sent_requests import (
    Replay,
    SentRequest,
    replay_of,
    request_at,
    requests_sent,
)
from onrecord.projections.apis.request import APIS, Options, options_of
from onrecord.projections.history.windows import MessageWindow, Window

AS_SENT: Final = "sent"
"""Where an address names an API: none is chosen, and requests are shown as they were sent."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose to see at a version: with no API and no window, what was sent."""

    at: int
    api: str | None = None
    window: Window | MessageWindow | None = None
    upto: int | None = None
    is_whole: bool = False

    @property
    def is_made(self) -> bool:
        """Whether an API or a window was chosen."""
        return self.api is not None or self.window is not None


@dataclass(frozen=True, slots=True)
class Plan:
    """Which request is shown, and which were sent around it.

    `sent_now` was sent at the version, on the main branch or beside it; `before` is the last one of
    the main branch before. `likeness` is the request whose recipe is followed, and `words` says what
    the recipe was. `is_chosen`: a person chose an API or a window; `difference` says how the request
    that was sent at the version was made otherwise.
    """

    wish: Wish
    at: int
    sent_now: SentRequest | None
    before: SentRequest | None
    likeness: SentRequest | None
    words: tuple[str, ...]
    is_chosen: bool
    difference: Difference | None = None

    @property
    def is_as_sent(self) -> bool:
        """Whether it is the request that was sent, made again by its recipe."""
        return self.likeness is not None and self.likeness == self.sent_now


@dataclass(frozen=True, slots=True)
class Shown:
    """A request as the page shows it, or why there is none; `replay` compares it with what was sent."""

    plan: Plan
    view: RequestView | None = None
    refusal: str = ""
    replay: Replay | None = None

    @property
    def is_seen(self) -> bool:
        """Whether a model saw what is shown: it was sent, and made again it is not another one."""
        return self.plan.is_as_sent and (self.replay is None or self.replay.is_same)


def plan(conversation: Conversation, choice: Choice) -> Plan:
    """Return which request is shown.

    That is the one that was sent at the version; where none was, one that is made as the last one
    was; or the one of the API and the window that were chosen.
    """
    sent = requests_sent(conversation, choice.at, 2)
    last = next(iter(sent), None)
    follows = not choice.is_made and last is not None and last.recipe is not None
    likeness = last if follows else None
    wish, sent_now = _wish(choice, last, likeness), request_at(conversation, choice.at)
    return Plan(
        wish=wish,
        at=choice.at,
        sent_now=sent_now,
        before=next((each for each in sent if each.version < choice.at), None),
        likeness=likeness,
        words=_words(likeness),
        is_chosen=choice.is_made,
        difference=_difference(sent_now, wish) if choice.is_made else None,
    )


def _difference(sent: SentRequest | None, wish: Wish) -> Difference | None:
    if sent is None or sent.recipe is None:
        return None
    return difference(options_of(sent.recipe), Options(api=wish.api, window=wish.window))


def _wish(choice: Choice, last: SentRequest | None, likeness: SentRequest | None) -> Wish:
    api = choice.api or (APIS[0] if last is None else last.api)
    if likeness is None or likeness.recipe is None:
        return Wish(api, choice.at, choice.window, choice.upto, choice.is_whole)
    recipe = likeness.recipe
    if likeness.version != choice.at:
        recipe = recipe.model_copy(update={"version": choice.at})
    window = options_of(recipe).window
    return Wish(recipe.api, choice.at, window, choice.upto, choice.is_whole, recipe)


def _words(likeness: SentRequest | None) -> tuple[str, ...]:
    if likeness is None or likeness.recipe is None:
        return ()
    return option_words(options_of(likeness.recipe))


def read_shown(conversation: Conversation, planned: Plan) -> Shown:
    """Return the request of a plan; an error where it cannot be made."""
    view = read_request(conversation, planned.wish)
    # A replay reads all events up to the request: of a long conversation that takes too long here.
    is_short = not is_long(conversation, planned.at)
    if is_short and planned.is_chosen and _is_same(conversation, planned.sent_now, view):
        words = _words(planned.sent_now)
        planned = replace(planned, likeness=planned.sent_now, words=words, difference=None)
    is_replayed = planned.is_as_sent and is_short
    replay = replay_of(conversation, planned.at) if is_replayed else None
    return Shown(planned, view, replay=replay)


def _is_same(conversation: Conversation, sent: SentRequest | None, view: RequestView) -> bool:
    """Whether a request that is shown has the bytes that the recipe of the one that was sent makes."""
    if sent is None or sent.recipe is None or sent.is_aside or sent.api != view.api:
        return False
    made, _ = content_of(conversation, Wish(sent.api, sent.version, recipe=sent.recipe))
    return digest_of(made) == view.sha256
