"""Everything that touches the world: the wire, storage, the command line and the wiring."""

import os

from onrecord.domain.content import build_models

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=build_models)
