"""Everything that touches the world: capture, storage, the command line and the wiring."""
