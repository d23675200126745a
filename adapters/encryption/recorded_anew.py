"""What was to begin under a key that operators destroyed meanwhile: it is encrypted anew, under another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.domain.erasure.destroyed import KeyDestroyed, keys_looked_for
from onrecord.domain.log import Append, Verdict


class _Encrypts(Protocol):
    @property
    def keys(self) -> SubjectKeys | None: ...
    def encrypted(self, append: Append) -> Append: ...


class _Appends(Protocol):
    def append(self, appends: Sequence[Append]) -> list[Verdict]: ...


def recorded_anew(log: _Encrypts, appends_to: _Appends, appends: Sequence[Append]) -> list[Verdict]:
    """Encrypt and append, and return the verdicts; none says that a key is destroyed.

    The log says so before the key store lets the key go. Whoever hears of it first does that: then the
    subject gets a new key.
    """
    asked = [log.encrypted(append) for append in appends]
    verdicts = list(appends_to.append(asked))
    again: list[int] = []
    for place, verdict in enumerate(verdicts):
        if isinstance(verdict, KeyDestroyed) and log.keys is not None:
            key = keys_looked_for(asked[place].events[0].header)[verdict.ordinal]
            log.keys.destroy([key])
            again.append(place)
    if again:
        anew = recorded_anew(log, appends_to, [appends[place] for place in again])
        for place, verdict in zip(again, anew, strict=True):
            verdicts[place] = verdict
    return verdicts
