"""Environments tried out before anything is trained: watched, stepped through, played."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, WebSocket
from pydantic import BaseModel, ConfigDict, Field

from app.accounts.errors import AccessError
from app.api.catalog.demonstrations import KeptDemonstration
from app.api.runs.frames import MOST_FPS, UNKNOWN, FrameSender
from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer, refuse_socket
from app.authoring.tryouts.tryout import Tryout
from app.core.tasks import Tasks
from app.protocol import messages
from app.protocol.commands import TryoutMode
from app.run_config.config import MAX_SEED, ShortText, WholeNumber

_Seed = Annotated[WholeNumber, Field(ge=0, le=MAX_SEED)]


class _Wish(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NewPreview(_Wish):
    """Which environment to try out, and who acts in it."""

    env_id: ShortText
    seed: _Seed | None = None
    mode: TryoutMode = "random"
    """A random agent, whoever asks for steps, or whoever holds keys."""


class PreviewChanges(_Wish):
    """Who acts, and how fast; what isn't named stays as it is."""

    mode: TryoutMode | None = None
    speed: float | None = None
    """1, 0.5 or 0.25 of the environment's own speed."""


class WantedStep(_Wish):
    """One step."""

    action: Any = None
    """A number, a list of numbers, or null: any at random."""


class WantedReset(_Wish):
    """How to begin."""

    seed: _Seed | None = None
    """null: the same as before."""


class HeldKeys(_Wish):
    """What is held down, for the mode play."""

    actions: Annotated[list[Any], Field(min_length=1, max_length=16)]
    """Done in turn, one at each step."""


class ObservedNumber(BaseModel):
    """One component of an observation; a bound of null is infinite."""

    name: str
    value: float | None
    low: float | None
    high: float | None


class PreviewState(BaseModel):
    """Where an episode stands."""

    episode: int
    step: int
    seed: int
    action: int | list[float] | None
    """What was done last; null at the beginning."""
    observation: list[ObservedNumber] | None
    """null where it is pixels."""
    reward: float
    return_: float = Field(alias="return")
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    is_exact: bool
    """Whether it is where it was before, after a step was taken back."""

    @classmethod
    def of(cls, tryout: Tryout, now: messages.Happened) -> "PreviewState":
        """Describe a moment."""
        action = list(now.action) if isinstance(now.action, tuple) else now.action
        return cls(
            episode=now.episode,
            step=now.step,
            seed=now.seed,
            action=action,
            observation=_named(tryout, now),
            reward=now.reward,
            **{"return": now.return_},
            terminated=now.terminated,
            truncated=now.truncated,
            info=dict(now.info),
            is_exact=now.is_exact,
        )


class Preview(BaseModel):
    """An environment that is being tried out."""

    id: str
    env_id: str
    mode: str
    speed: float
    frames_url: str
    state: PreviewState

    @classmethod
    def of(cls, tryout: Tryout) -> "Preview":
        """Describe a tryout."""
        return cls(
            id=tryout.id,
            env_id=tryout.spec.id,
            mode=tryout.mode,
            speed=tryout.speed,
            frames_url=f"/api/previews/{tryout.id}/frames",
            state=PreviewState.of(tryout, tryout.now),
        )


_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer, "description": "It has ended, or can't do that now"},
}

router = APIRouter(prefix="/previews", tags=["previews"], responses=_ERRORS)


@router.post("", status_code=201)
async def start(wanted: NewPreview, lab: TheLab, visitor: TheVisitor) -> Preview:
    """Try an environment out; it ends by itself when nobody uses it for two minutes."""
    tryout = await lab.tryouts.start(visitor, wanted.env_id, mode=wanted.mode, seed=wanted.seed)
    return Preview.of(tryout)


@router.get("/{preview_id}")
async def get(preview_id: str, lab: TheLab, visitor: TheVisitor) -> Preview:
    """Return how it stands."""
    return Preview.of(lab.tryouts.look(visitor, preview_id))


@router.patch("/{preview_id}")
async def change(
    preview_id: str, changes: PreviewChanges, lab: TheLab, visitor: TheVisitor
) -> Preview:
    """Change who acts, and how fast."""
    tryout = lab.tryouts.get(visitor, preview_id)
    await tryout.conduct(mode=changes.mode, speed=changes.speed)
    return Preview.of(tryout)


@router.delete("/{preview_id}", status_code=204)
async def end(preview_id: str, lab: TheLab, visitor: TheVisitor) -> None:
    """End it."""
    await lab.tryouts.end(visitor, preview_id)


@router.post("/{preview_id}/step")
async def step(
    preview_id: str, wanted: WantedStep, lab: TheLab, visitor: TheVisitor
) -> PreviewState:
    """Take one step."""
    tryout = lab.tryouts.get(visitor, preview_id)
    return PreviewState.of(tryout, await tryout.step(wanted.action))


@router.post("/{preview_id}/back")
async def back(preview_id: str, lab: TheLab, visitor: TheVisitor) -> PreviewState:
    """Take the last step back, by playing the episode again up to there."""
    tryout = lab.tryouts.get(visitor, preview_id)
    return PreviewState.of(tryout, await tryout.back())


@router.post("/{preview_id}/reset")
async def reset(
    preview_id: str, lab: TheLab, visitor: TheVisitor, wanted: WantedReset | None = None
) -> PreviewState:
    """Begin an episode, with the same seed or another."""
    tryout = lab.tryouts.get(visitor, preview_id)
    return PreviewState.of(tryout, await tryout.reset(wanted.seed if wanted else None))


@router.post("/{preview_id}/hold", status_code=204)
async def hold(preview_id: str, held: HeldKeys, lab: TheLab, visitor: TheVisitor) -> None:
    """Say what to do at every step from now on, in the mode play; it begins the episode, too."""
    tryout = lab.tryouts.get(visitor, preview_id)
    actions = tuple(tryout.space.check(action, tryout.spec) for action in held.actions)
    tryout.hold(actions, begins=True)


@router.post("/{preview_id}/demonstration", status_code=201)
async def keep(preview_id: str, lab: TheLab, visitor: TheVisitor) -> KeptDemonstration:
    """Keep the episode that was just taken to its end step by step, or played."""
    tryout = lab.tryouts.get(visitor, preview_id)
    return KeptDemonstration.of(await lab.demonstrations.keep(visitor, tryout))


@router.websocket("/{preview_id}/frames")
async def frames(
    socket: WebSocket,
    preview_id: str,
    lab: TheLab,
    visitor: TheVisitor,
    fps: Annotated[float, Query(gt=0)] = MOST_FPS,
) -> None:
    """Send the newest pictures, as those of runs are sent."""
    try:
        tryout = lab.tryouts.look(visitor, preview_id)
    except AccessError as error:
        await refuse_socket(socket, UNKNOWN, str(error))
        return
    await socket.accept()
    tasks = Tasks()
    tasks.start(_close_at_the_end(socket, tryout), name="close the socket of an ended preview")
    try:
        with tryout.frames.looking():
            sender = FrameSender(socket, tryout.frames, min(fps, MOST_FPS))
            await sender.run(lambda: not visitor.shown.is_over)
    finally:
        await tasks.cancel()


async def _close_at_the_end(socket: WebSocket, tryout: Tryout) -> None:
    await tryout.ended.wait()
    await socket.close(UNKNOWN)


def _named(tryout: Tryout, now: messages.Happened) -> list[ObservedNumber] | None:
    if now.observation is None:
        return None
    known = tryout.spec.components(len(now.observation))
    return [
        ObservedNumber(name=component.name, value=value, low=component.low, high=component.high)
        for component, value in zip(known, now.observation, strict=True)
    ]
