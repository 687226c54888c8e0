"""Policy snapshots and clips of the time machine on disk."""

from itertools import pairwise
from pathlib import Path

import pytest

from storage.files.clip_files import ClipFiles, runs_with_pending_clips


@pytest.fixture
def clips(tmp_path: Path) -> ClipFiles:
    (tmp_path / "run").mkdir()
    return ClipFiles(tmp_path / "run" / "clips")


def save_clips(clips: ClipFiles, *steps: int) -> None:
    for step in steps:
        clips.add(step, b"policy")
        assert clips.save(step, b"film", {"timesteps": step}, policy=b"policy")


def test_a_snapshot_is_pending_until_its_clip_is_saved(clips: ClipFiles) -> None:
    clips.add(100, b"policy")
    assert (clips.waiting(), clips.facts()) == ([100], [])
    assert runs_with_pending_clips(clips.path.parent.parent) == ["run"]

    assert clips.save(100, b"film", {"timesteps": 100}, policy=b"policy")

    assert (clips.waiting(), clips.facts()) == ([], [b'{"timesteps":100}'])
    assert clips.clip(100).read_bytes() == b"film"
    assert clips.policy(100) is None
    assert runs_with_pending_clips(clips.path.parent.parent) == []


def test_the_snapshot_farthest_from_all_clips_is_recorded_first(clips: ClipFiles) -> None:
    save_clips(clips, 0)
    for step in (10, 50, 100):
        clips.add(step, b"policy")

    assert clips.waiting() == [100, 50, 10]


def test_a_limited_number_of_clips_covers_the_whole_run(clips: ClipFiles) -> None:
    for step in range(0, 3_000, 100):
        save_clips(clips, step)
        clips.thin_out(6, keep=frozenset({step, step - 100, step - 200}))

    steps = clips.steps()

    assert steps[0] == 0
    assert steps[-3:] == [2_700, 2_800, 2_900]
    assert len(steps) == 9
    assert max(later - earlier for earlier, later in pairwise(steps)) <= 1_000
    assert {path.suffix for path in clips.path.iterdir()} == {".mp4", ".json"}


def test_a_snapshot_of_dropped_steps_gets_no_clip(clips: ClipFiles) -> None:
    save_clips(clips, 100, 200)
    clips.add(300, b"policy")

    clips.cut_back(150)

    assert clips.steps() == [100]
    assert not clips.save(300, b"film", {"timesteps": 300}, policy=b"policy")
    assert clips.steps() == [100]


def test_a_newer_policy_of_the_same_step_is_recorded_again(clips: ClipFiles) -> None:
    save_clips(clips, 100)
    clips.add(100, b"newer")

    assert (clips.waiting(), clips.facts()) == ([100], [])
    assert not clips.save(100, b"film of the older", {}, policy=b"policy")
    assert clips.save(100, b"film", {"timesteps": 100}, policy=b"newer")
