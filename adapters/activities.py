"""What tools of providers did, read from what a store holds."""

from __future__ import annotations

from onrecord.adapters.lineage import Stretch
from onrecord.adapters.reading import blob_among, told_whole
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native
from onrecord.domain.log import Backend
from onrecord.projections.history.server_tools import Activity
from onrecord.projections.history.server_tools import activity


def activities(backend: Backend, stretches: tuple[Stretch, ...]) -> tuple[Activity, ...]:
    """Return what providers' tools did in these stretches, each block whole."""

    def whole(native: Native) -> Native:
        blobs = tuple(referenced(native.value))
        if not blobs:
            return native
        held = {blob.sha256: blob_among(backend, stretches, blob) for blob in blobs}
        return Native(api=native.api, value=restore(native.value, held))

    return activity(told_whole(backend, stretches), whole)
