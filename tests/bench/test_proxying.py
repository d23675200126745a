"""The measures of the proxy, at their smallest, and that both sides record what they say."""

from pathlib import Path

import onrecord
from tests.bench.measure import Pace
from tests.bench.proxying import measures


def test_both_sides_of_the_measure_record_each_call(tmp_path: Path) -> None:
    lines = {measure.name: measure.line() for measure in measures(tmp_path, Pace(2, 2))}
    assert lines["proxy.first_byte"]["ours"]["median"] > 0
    assert lines["proxy.first_byte.over"]["ours"]["n"] == 4
    assert lines["proxy.first_byte.hop"]["ours"]["n"] == 4
    for name in ("proxied", "own"):
        with onrecord.connect(f"sqlite:///{tmp_path / name}.db") as store:
            told = [store.get(each.conversation_id).history() for each in store.conversations()]
        assert [len(turns) for turns in told] == [2] * 6
