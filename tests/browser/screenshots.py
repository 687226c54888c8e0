"""Save a screenshot of every page in every state to docs/images: `make screenshots`."""

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Visit, chromium
from tests.conftest import free_port
from tests.lab_server import ROOT, LabServer

IMAGES = ROOT / "docs" / "images"

_COLOURS = 256
_SETTLE_MS = 900
_TIMEOUT_MS = 90_000
_LOADED = "() => [...document.images].every(image => image.complete || image.loading === 'lazy')"


class Camera:
    """Opens pages as a user does and saves screenshots of them."""

    def __init__(self, browser: Browser, lab: LabServer) -> None:
        self._browser = browser
        self.lab = lab

    def open(
        self, path: str, *, width: int = 1440, theme: str = "light", explain: bool = False
    ) -> Page:
        visit = Visit(self._browser, self.lab, width=width)
        cookies = {"theme": theme, "explain": "on" if explain else "off"}
        visit.context.add_cookies(
            [{"name": name, "value": value, "url": self.lab.url} for name, value in cookies.items()]
        )
        return visit.open(path)

    def take(self, name: str, path: str, **options: object) -> None:
        """Open a page, wait until it has settled, and save a screenshot of it."""
        page = self.open(path, **options)  # type: ignore[arg-type]
        page.wait_for_function(_LOADED, timeout=_TIMEOUT_MS)
        page.wait_for_timeout(_SETTLE_MS)
        self.save(name, page)

    @staticmethod
    def save(name: str, page: Page) -> None:
        """Save a screenshot with a small palette, as these pages have few colours."""
        with Image.open(io.BytesIO(page.screenshot())) as picture:
            # This method keeps rare colours, such as the green of a dot.
            reduced = picture.convert("RGB").quantize(
                _COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
            )
            reduced.save(IMAGES / f"{name}.png", optimize=True)
        page.context.close()


def main() -> None:
    """Start with an empty lab and save its pages as runs are added."""
    folder = Path(tempfile.mkdtemp(prefix="screenshots-"))
    try:
        with (
            LabServer(folder, free_port(), RL_LAB_WORKERS="1") as lab,
            chromium() as browser,
        ):
            camera = Camera(browser, lab)
            _save_empty_lab(camera)
            _save_training(camera)
            _save_run_list(camera)
            _save_comparison(camera)
            _save_editors(camera)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _save_empty_lab(camera: Camera) -> None:
    camera.take("home-first-visit", "/")
    camera.take("home-first-visit-phone", "/", width=390, theme="dark")
    camera.take("home-nothing-fits", "/?q=spaceship&actions=discrete")
    camera.take("train-empty", "/train")
    camera.take("tour-phone", "/train?tour=1", width=390)
    camera.take("runs-empty", "/runs", theme="dark")


def _save_training(camera: Camera) -> None:
    lab = camera.lab
    solved = lab.train(name="Balance the pole", preset="fast", total_timesteps=None)
    lab.train(name="Swing up", env_id="Acrobot-v1", total_timesteps=60_000)
    live = lab.create(
        **{"name": "Land on the moon", "env_id": "LunarLander-v3"},
        **{"total_timesteps": 3_000_000, "start": True},
    )
    lab.wait_for_steps(live["id"], 60_000)
    waiting = lab.create(name="Next in line", total_timesteps=50_000, start=True)
    for name, options in {
        "train-live": {},
        "train-live-dark": {"theme": "dark"},
        "train-live-phone": {"width": 390},
    }.items():
        page = camera.open(f"/runs/{live['id']}", **options)  # type: ignore[arg-type]
        page.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)
        page.wait_for_timeout(4_000)
        camera.save(name, page)
    camera.take("run-waiting", f"/runs/{waiting['id']}")
    camera.take("home-returning", "/", theme="dark")
    camera.take("run-finished-explained", f"/runs/{solved['id']}", explain=True)
    lab.api.post(f"/runs/{waiting['id']}/stop")
    for worker in lab.workers():
        worker.kill()
    lab.wait_for(live["id"], "failed", "interrupted")
    camera.take("run-failed", f"/runs/{live['id']}")


def _save_run_list(camera: Camera) -> None:
    camera.take("runs", "/runs")
    camera.take("runs-phone", "/runs", width=390)
    page = camera.open("/runs", width=390, theme="dark")
    page.get_by_role("button", name="Help and keyboard shortcuts").click()
    page.wait_for_timeout(_SETTLE_MS)
    camera.save("help-phone", page)


def _save_comparison(camera: Camera) -> None:
    lab = camera.lab
    groups = []
    for algorithm in ("PPO", "A2C"):
        body = {"env_id": "CartPole-v1", "algorithm": algorithm, "total_timesteps": 40_000}
        body["evaluation"] = {"final_episodes": 20}
        group = lab.api.post(
            "/runs", json={**body, "seeds": 5, "name": algorithm, "start": True}
        ).json()
        for run in group["runs"]:
            lab.wait_for(run["id"], "completed", within=600)
        groups.append(f"g:{group['group_id']}")
    camera.take("compare-empty", "/compare")
    camera.take("compare", f"/compare?runs={','.join(groups)}")
    camera.take("compare-phone", f"/compare?runs={','.join(groups)}", width=390, theme="dark")


def _save_editors(camera: Camera) -> None:
    for name, options in {
        "reward-lab": {},
        "reward-lab-phone": {"width": 390, "theme": "dark"},
    }.items():
        page = camera.open("/train", **options)  # type: ignore[arg-type]
        if "width" in options:
            page.get_by_role("button", name="Setup", exact=True).click()
        page.get_by_role("button", name="Edit reward").click()
        page.get_by_label("Start from").click()
        page.get_by_role("option", name="Centre the pole").click()
        page.get_by_role("button", name="Check", exact=True).click()
        page.get_by_text("Reward per step").wait_for(timeout=_TIMEOUT_MS)
        page.wait_for_timeout(_SETTLE_MS)
        camera.save(name, page)
    camera.take("write", "/write")


if __name__ == "__main__":
    main()
