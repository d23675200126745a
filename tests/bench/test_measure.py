"""How sides take turns, and what becomes of their seconds."""

from collections.abc import Callable

from tests.bench.measure import Aim, Contender, Figures, Measure, Pace, Work, take_turns


def noting(turns: list[str], name: str) -> Callable[[int], Work]:
    return lambda _: lambda: turns.append(name)


def test_sides_take_turns_and_the_first_of_a_round_is_not_counted() -> None:
    turns: list[str] = []
    sides = [Contender(name, "", noting(turns, name)) for name in "ab"]
    first, second = take_turns(sides, Pace(rounds=2, each=2))
    assert "".join(turns) == "aaabbb" + "bbbaaa"
    assert [len(values) for values in first.rounds] == [2, 2]
    assert (first.what, second.what) == ("a", "b")


def test_a_ratio_is_of_medians_and_an_aim_is_held_against_it() -> None:
    ours, peer = Figures("ours", "", [[1, 2, 300]]), Figures("peer", "", [[4, 4, 4]])
    line = Measure("m", "ms", ours, peer, Aim(0.5)).line()
    assert (line["ratio"], line["aim"], line["met"]) == (0.5, "at most 0.5", True)
    assert Measure("m", "ms", ours, peer, Aim(0.5, "below")).line()["met"] is False


def test_without_a_peer_an_aim_is_held_against_the_figure_in_its_unit() -> None:
    figures = Figures("import onrecord", "", [[0.1, 0.1, 0.1]])
    assert Measure("m", "ms", figures, aim=Aim(150, "below")).line()["met"] is True
    assert Measure("m", "ms", figures, aim=Aim(99, "below")).line()["met"] is False
