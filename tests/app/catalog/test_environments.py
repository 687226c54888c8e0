"""Environments over the API: listed, not installed, unknown, or outside the catalogue."""

import io

import pytest
from PIL import Image

from app.catalog.environments.catalogue import ENVIRONMENTS, environment_of_run
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

MISSING = [spec for spec in ENVIRONMENTS.values() if not spec.is_installed]


def test_the_list_says_what_is_installed_and_how_to_install_the_rest(server: LabServer) -> None:
    items = {item["id"]: item for item in server.api.get("/environments").json()["items"]}

    # Other tests may have added custom environments.
    assert [one for one in items if not one.startswith("custom/")] == list(ENVIRONMENTS)
    assert items["CartPole-v1"]["installed"]
    assert items["CartPole-v1"]["install_hint"] is None
    for spec in MISSING:
        assert not items[spec.id]["installed"]
        assert items[spec.id]["install_hint"] == spec.install_hint


def test_an_environment_describes_its_observations_and_options(server: LabServer) -> None:
    taxi = server.api.get("/environments/Taxi-v4").json()
    lake = server.api.get("/environments/FrozenLake-v1").json()
    pong = server.api.get("/environments/ALE/Pong-v5").json()

    assert (taxi["obs_space_type"], taxi["obs_space_dims"]) == ("discrete", [500])
    assert taxi["obs_labels"] == ["state"]
    assert taxi["obs_bounds"] == [[0, 499]]
    (map_name,) = (option for option in lake["env_kwargs"] if option["name"] == "map_name")
    assert map_name["choices"] == ["4x4", "8x8"]
    assert map_name["default"] == "4x4"
    assert (pong["obs_space_type"], pong["obs_space_dims"]) == ("image", [84, 84, 1])
    assert pong["default_frame_stack"] == 4


def test_an_environment_with_a_slash_in_its_id_has_a_preview_image(server: LabServer) -> None:
    image = server.api.get("/environments/ALE/Pong-v5/preview.png")

    assert Image.open(io.BytesIO(image.content)).size == (160, 210)


@pytest.mark.skipif(not MISSING, reason="every family is installed here")
def test_a_run_without_its_environment_installed_is_refused_with_the_install_command(
    server: LabServer,
) -> None:
    body = {"env_id": MISSING[0].id, "algorithm": "PPO"}

    answer = server.api.post("/runs", json=body)
    image = server.api.get(f"/environments/{MISSING[0].id}/preview.png")

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "not_installed"
    assert answer.json()["error"]["field"] == "env_id"
    assert answer.json()["error"]["message"].endswith(MISSING[0].install_hint or "a command")
    assert image.status_code == 404


@pytest.mark.parametrize(
    ("env_id", "code", "message"),
    [
        ("CartPol-v1", "unknown_environment", "Did you mean CartPole-v1?"),
        ("nosuchmodule:Thing-v0", "unknown_environment", "Unknown environment"),
        ("Cart Pole", "unknown_environment", "Did you mean CartPole-v1?"),
        ("../../etc/passwd", "unknown_environment", "Unknown environment"),
        ("phys2d/CartPole-v1", "cannot_be_trained", "jax"),
    ],
)
def test_an_unusable_environment_is_refused_with_the_reason(
    server: LabServer, env_id: str, code: str, message: str
) -> None:
    answer = server.api.post("/runs", json={"env_id": env_id, "algorithm": "PPO"})

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == code
    assert message in answer.json()["error"]["message"]


def test_any_installed_environment_trains_and_is_known_after_a_restart(
    server: LabServer,
) -> None:
    lab = server
    env_id = "minigrid:MiniGrid-LavaGapS5-v0"

    run = lab.train(env_id=env_id, total_timesteps=300, hyperparameters={"n_steps": 32})
    described = lab.api.get(f"/environments/{env_id}").json()
    image = lab.api.get(f"/environments/{env_id}/preview.png")
    lab.terminate()
    lab.restart()
    lab.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 600})
    lab.api.post(f"/runs/{run['id']}/resume")
    resumed = lab.wait_for(run["id"], "completed")

    assert run["status"] == "completed"
    assert run["env_id"] == env_id
    assert described["n_actions"] == 7
    assert described["obs_space_dims"] == [147]
    assert described["max_episode_steps"] == 100
    assert image.status_code == 200
    assert resumed["timesteps"] >= 600
    assert b"LavaGap" in (lab.folder / ".environments.json").read_bytes()


def test_a_run_gets_a_description_of_an_environment_that_is_unknown_now() -> None:
    spec = environment_of_run("Forgotten-v0")

    assert spec.solved_threshold is None
    assert spec.max_episode_steps is None
