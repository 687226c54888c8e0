"""Previews: try an environment out by watching, stepping through or playing it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, WebSocket
from pydantic import AliasPath, Field

from app.accounts import AccessError
from app.api.catalog.demonstrations import Demonstration
from app.api.runs.frames import MAX_FPS, UNKNOWN, FrameSender
from app.api.shared import ErrorAnswer, RequestShape, Shape, TheLab, ThePrincipal, refuse_socket
from app.authoring.tryouts import Tryout
from app.core import Tasks
from app.protocol import TryoutMode, messages
from app.run_config import MAX_SEED, ShortText, WholeNumber

_Seed = Annotated[WholeNumber, Field(ge=0, le=MAX_SEED)]


class NewPreview(RequestShape):
    """The environment to try out, and who acts in it."""

    env_id: ShortText
    seed: _Seed | None = None
    mode: TryoutMode = "random"
    """Actions come from a random agent, from requests of single steps, or from held keys."""


class PreviewChanges(RequestShape):
    """Who acts, and how fast; omitted fields stay as they are."""

    mode: TryoutMode | None = None
    speed: float | None = None
    """1, 0.5 or 0.25 of the environment's own speed."""


class StepRequest(RequestShape):
    """A request for one step."""

    action: Any = None
    """A number, a list of numbers, or null for a random action."""


class ResetRequest(RequestShape):
    """How to start an episode."""

    seed: _Seed | None = None
    """null: the same seed as before."""


class HeldKeys(RequestShape):
    """Actions of the keys that are held down, for the mode play."""

    actions: Annotated[list[Any], Field(min_length=1, max_length=16)]
    """Executed in turn, one per step."""


class ObservedNumber(Shape):
    """One component of an observation; a bound of null is infinite."""

    name: str
    value: float | None
    low: float | None
    high: float | None


class PreviewState(Shape):
    """The current state of an episode."""

    episode: int
    step: int
    seed: int
    action: int | list[float] | None
    """The last action; null at the start."""
    observation: list[ObservedNumber] | None
    """null for pixels."""
    reward: float
    return_: float = Field(alias="return")
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    is_exact: bool
    """Whether the state is exactly the earlier one after a step was undone."""


class Preview(Shape):
    """An environment that is being tried out."""

    id: str
    env_id: str = Field(validation_alias=AliasPath("spec", "id"))
    mode: str
    speed: float
    frames_url: str = Field(default_factory=lambda known: f"/api/previews/{known['id']}/frames")
    state: PreviewState


_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer, "description": "The preview has ended, or can't do that now"},
}

router = APIRouter(prefix="/previews", tags=["previews"], responses=_ERRORS)


@router.post("", status_code=201)
async def start(body: NewPreview, lab: TheLab, principal: ThePrincipal) -> Preview:
    """Start a preview; it ends by itself after two minutes without use."""
    tryout = await lab.tryouts.start(principal, body.env_id, mode=body.mode, seed=body.seed)
    return _preview(tryout)


@router.get("/{preview_id}")
async def get(preview_id: str, lab: TheLab, principal: ThePrincipal) -> Preview:
    """Return a preview with its current state."""
    return _preview(lab.tryouts.look(principal, preview_id))


@router.patch("/{preview_id}")
async def change(
    preview_id: str, changes: PreviewChanges, lab: TheLab, principal: ThePrincipal
) -> Preview:
    """Change who acts, and how fast."""
    tryout = lab.tryouts.get(principal, preview_id)
    await tryout.configure(mode=changes.mode, speed=changes.speed)
    return _preview(tryout)


@router.delete("/{preview_id}", status_code=204)
async def end(preview_id: str, lab: TheLab, principal: ThePrincipal) -> None:
    """End a preview."""
    await lab.tryouts.end(principal, preview_id)


@router.post("/{preview_id}/step")
async def step(
    preview_id: str, body: StepRequest, lab: TheLab, principal: ThePrincipal
) -> PreviewState:
    """Take one step."""
    tryout = lab.tryouts.get(principal, preview_id)
    return _state(tryout, await tryout.step(body.action))


@router.post("/{preview_id}/back")
async def back(preview_id: str, lab: TheLab, principal: ThePrincipal) -> PreviewState:
    """Undo the last step by replaying the episode up to the one before."""
    tryout = lab.tryouts.get(principal, preview_id)
    return _state(tryout, await tryout.back())


@router.post("/{preview_id}/reset")
async def reset(
    preview_id: str, lab: TheLab, principal: ThePrincipal, body: ResetRequest | None = None
) -> PreviewState:
    """Start an episode, with the same seed or another one."""
    tryout = lab.tryouts.get(principal, preview_id)
    return _state(tryout, await tryout.reset(body.seed if body else None))


@router.post("/{preview_id}/hold", status_code=204)
async def hold(preview_id: str, held: HeldKeys, lab: TheLab, principal: ThePrincipal) -> None:
    """Set the actions for all next steps in the mode play; also starts the episode."""
    tryout = lab.tryouts.get(principal, preview_id)
    actions = tuple(tryout.space.check(action, tryout.spec) for action in held.actions)
    tryout.hold(actions, begins=True)


@router.post("/{preview_id}/demonstration", status_code=201)
async def save_demonstration(
    preview_id: str, lab: TheLab, principal: ThePrincipal
) -> Demonstration:
    """Save the episode that was just stepped through or played to its end."""
    tryout = lab.tryouts.get(principal, preview_id)
    return Demonstration.of(await lab.demonstrations.save(principal, tryout))


@router.websocket("/{preview_id}/frames")
async def frames(
    socket: WebSocket,
    preview_id: str,
    lab: TheLab,
    principal: ThePrincipal,
    fps: Annotated[float, Query(gt=0)] = MAX_FPS,
) -> None:
    """Send the newest frames, with the same protocol as for runs."""
    try:
        tryout = lab.tryouts.look(principal, preview_id)
    except AccessError as error:
        await refuse_socket(socket, UNKNOWN, str(error))
        return
    await socket.accept()
    tasks = Tasks()
    tasks.start(_close_at_end(socket, tryout), name="close the socket of an ended preview")
    try:
        with tryout.frames.viewing():
            sender = FrameSender(socket, tryout.frames, min(fps, MAX_FPS))
            await sender.run(lambda: not principal.credential.is_over)
    finally:
        await tasks.cancel()


async def _close_at_end(socket: WebSocket, tryout: Tryout) -> None:
    await tryout.ended.wait()
    await socket.close(UNKNOWN)


def _preview(tryout: Tryout) -> Preview:
    return Preview.of(tryout, state=_state(tryout, tryout.now))


def _state(tryout: Tryout, now: messages.Happened) -> PreviewState:
    return PreviewState.of(now, observation=_observation(tryout, now))


def _observation(tryout: Tryout, now: messages.Happened) -> list[ObservedNumber] | None:
    if now.observation is None:
        return None
    known = tryout.spec.components(len(now.observation))
    return [
        ObservedNumber.of(component, value=value)
        for component, value in zip(known, now.observation, strict=True)
    ]
