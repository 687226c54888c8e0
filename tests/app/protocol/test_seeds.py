"""The seeds of periodic evaluations, tests and final evaluations are disjoint."""

from itertools import pairwise

from app.protocol import SeedFamily, confirmation_seed, selection_seed


def test_the_families_do_not_overlap_and_each_seed_belongs_to_its_family() -> None:
    firsts = [family.first_seed for family in SeedFamily]

    assert all(later - earlier == 1_000_000 for earlier, later in pairwise(firsts))
    for family in SeedFamily:
        assert SeedFamily.of(family.first_seed) is family
        assert SeedFamily.of(family.first_seed + 999_999) is family
    assert SeedFamily.of(firsts[0] - 1) is None
    assert SeedFamily.of(firsts[-1] + 1_000_000) is None


def test_each_periodic_evaluation_has_seeds_of_its_own() -> None:
    steps = range(0, 1_000_000, 50_000)
    blocks = [range(first := selection_seed(step, 20), first + 20) for step in steps]

    seeds = [seed for block in blocks for seed in block]
    assert len(set(seeds)) == len(seeds)
    assert {SeedFamily.of(seed) for seed in seeds} == {SeedFamily.SELECTION}
    assert selection_seed(50_000, 20) == selection_seed(50_000, 20)
    assert selection_seed(50_000, 20, is_repeated=True) not in seeds


def test_a_confirmation_uses_test_seeds_that_a_test_does_not_begin_with() -> None:
    for step in range(0, 1_000_000, 50_000):
        first = confirmation_seed(step, 100)
        assert SeedFamily.of(first) is SeedFamily.of(first + 99) is SeedFamily.TEST
        assert first >= SeedFamily.TEST.first_seed + 500_000
