"""Drive evaluations of a run over the API."""

from typing import Any

import httpx

from tests.lab_server import LabServer, wait_until

BRIEF: dict[str, Any] = {
    "total_timesteps": 256,
    "hyperparameters": {"n_steps": 64, "net_arch": [8]},
    "n_envs": 2,
    # Every step of an episode is rendered and encoded.
    "wrappers": {"time_limit": 60},
}
OVER = {"completed", "failed", "cancelled"}


class Subject:
    """A run with the API calls for its evaluations."""

    def __init__(self, lab: LabServer, run_id: str) -> None:
        self.lab = lab
        self.path = f"/runs/{run_id}/evaluations"
        self.run_id = run_id

    def request(self, **options: Any) -> httpx.Response:
        return self.lab.api.post(self.path, json=options)

    def start(self, **options: Any) -> str:
        answer = self.request(**options)
        assert answer.status_code == 202, answer.text
        evaluation_id: str = answer.json()["id"]
        return evaluation_id

    def get(self, evaluation_id: str) -> dict[str, Any]:
        evaluation: dict[str, Any] = self.lab.api.get(f"{self.path}/{evaluation_id}").json()
        return evaluation

    def wait(self, evaluation_id: str, *statuses: str) -> dict[str, Any]:
        wanted = set(statuses) or OVER
        wait_until(lambda: self.get(evaluation_id)["status"] in wanted, within=90)
        return self.get(evaluation_id)

    def evaluate(self, **options: Any) -> dict[str, Any]:
        evaluation = self.wait(self.start(**options))
        assert evaluation["status"] == "completed", evaluation
        return evaluation

    def video(self, evaluation_id: str, **headers: str) -> httpx.Response:
        return self.lab.api.get(f"{self.path}/{evaluation_id}/video", headers=headers)

    @property
    def files(self) -> set[str]:
        folder = self.lab.folder / self.run_id / "evaluations"
        return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
