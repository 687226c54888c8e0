"""Keyboard controls of environments with discrete or low-dimensional actions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.catalog.environments.spec import ActionKind, EnvSpec

Action = int | tuple[float, ...]
"""A discrete action, or the numbers of a continuous one."""

_LIVE_FAMILIES = frozenset({"classic control", "box2d", "atari", "mujoco"})
"""Families that are stepped in real time; all others wait for a key."""
_SPARE_KEYS = (*"1234567890", *"qwertyuiopasdfghjklzxcvbnm")
_BUTTONS = {
    "left": "ArrowLeft",
    "west": "ArrowLeft",
    "right": "ArrowRight",
    "east": "ArrowRight",
    "up": "ArrowUp",
    "north": "ArrowUp",
    "forward": "ArrowUp",
    "down": "ArrowDown",
    "south": "ArrowDown",
    "fire": " ",
}
_NAMED_KEYS = {
    "pick up": "p",
    "set down": "s",
    "drop": "d",
    "toggle": " ",
    "done": "x",
    "hit": "h",
    "stick": "s",
}
_PAIRS = (("ArrowLeft", "ArrowRight"), ("ArrowDown", "ArrowUp"), ("a", "d"), ("s", "w"))
_NO_OPS = frozenset({"wait", "coast", "no torque", "noop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key and the equivalent button on the screen."""

    key: str
    """Its name in browsers (`KeyboardEvent.key`)."""
    label: str
    """What it does."""
    action: int | None = None
    """The action it selects on its own, if actions are discrete."""
    axis: int = 0
    """Index of the number it changes, if actions are continuous."""
    share: float = 0.0
    """Fraction of the bound: 1 is the upper one, -1 the lower one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMap:
    """Translates pressed keys into actions."""

    keys: tuple[Key, ...]
    is_live: bool
    """Whether it is stepped in real time; otherwise each key press is one step."""
    chords: Mapping[frozenset[str], int]
    """The actions of keys that are held together."""
    idle: tuple[int, ...] = ()
    """The actions that alternate while no key is held."""
    idle_description: str = ""
    """Explains `idle` if it isn't a no-op."""

    def choose(self, pressed: Sequence[str]) -> tuple[int, ...]:
        """Return the actions that alternate while these keys are held, the newest key last."""
        if (chord := self.chords.get(frozenset(pressed))) is not None:
            return (chord,)
        single = {key.key: key.action for key in self.keys}
        known = [choice for name in pressed if (choice := single.get(name)) is not None]
        return (known[-1],) if known else self.idle

    def steer(
        self,
        pressed: Collection[str],
        moved: Mapping[int, float],
        bounds: Sequence[tuple[float, float]],
    ) -> tuple[float, ...]:
        """Return the action of pressed keys and moved sliders; other numbers are neutral."""
        values = [neutral_value(low, high) for low, high in bounds]
        for key in self.keys:
            if key.key in pressed and key.axis < len(values):
                low, high = bounds[key.axis]
                values[key.axis] = high * key.share if key.share > 0 else low * -key.share
        for axis, value in moved.items():
            if 0 <= axis < len(values):
                low, high = bounds[axis]
                values[axis] = min(max(value, low), high)
        return tuple(values)


def neutral_value(low: float, high: float) -> float:
    """Return 0, or the bound that is closest to it."""
    return min(max(0.0, low), high)


def key_map(spec: EnvSpec) -> KeyMap:
    """Return the keys that play an environment."""
    is_live = spec.family in _LIVE_FAMILIES
    if spec.action_kind is ActionKind.DISCRETE:
        return _choices(spec, is_live=is_live)
    is_live = is_live or spec.action_kind is ActionKind.CONTINUOUS
    keys = _AXES.get(spec.id) or _pairs(spec)
    return KeyMap(keys=keys, is_live=is_live, chords={})


def _choices(spec: EnvSpec, *, is_live: bool) -> KeyMap:
    labels = _LABELS.get(spec.id, spec.action_labels)
    idle = tuple(i for i, label in enumerate(labels) if label in _NO_OPS)[:1]
    if spec.id == "CartPole-v1":
        return KeyMap(
            keys=_by_labels(labels)[0],
            is_live=True,
            chords={},
            idle=(0, 1),
            idle_description=(
                "Without a key, the cart is pushed to the left and to the right alternately."
            ),
        )
    keys, chords = _by_labels(labels)
    return KeyMap(keys=keys, is_live=is_live and bool(idle), chords=chords, idle=idle)


def _by_labels(labels: Sequence[str]) -> tuple[tuple[Key, ...], dict[frozenset[str], int]]:
    """Choose keys by the labels of actions, and spare keys for the rest."""
    keys: list[Key] = []
    chords: dict[frozenset[str], int] = {}
    left: list[int] = []
    for action, label in enumerate(labels):
        words = _TORQUES.get(label, label)
        buttons = frozenset(_BUTTONS[word] for word in words.split() if word in _BUTTONS)
        if label in _NO_OPS:
            continue
        if label in _NAMED_KEYS:
            keys.append(Key(key=_NAMED_KEYS[label], label=label, action=action))
        elif len(buttons) == 1 and not any(key.key in buttons for key in keys):
            keys.append(Key(key=next(iter(buttons)), label=label, action=action))
        elif len(buttons) > 1 and buttons not in chords:
            chords[buttons] = action
        else:
            left.append(action)
    taken = {key.key for key in keys}
    spare = (name for name in _SPARE_KEYS if name not in taken)
    keys += [
        Key(key=name, label=labels[action], action=action)
        for action, name in zip(left, spare, strict=False)
    ]
    return tuple(keys), chords


_TORQUES = {"torque -1": "left", "torque +1": "right", "main engine": "up"}
"""Directions of labels that don't contain one."""
_LABELS = {"ALE/Pong-v5": ("wait", "fire", "up", "down", "up and fire", "down and fire")}
"""Pong's joystick moves to the right when its paddle moves up."""


def _pairs(spec: EnvSpec) -> tuple[Key, ...]:
    """Return a key to decrease and one to increase each of the first numbers of an action."""
    names = spec.action_labels
    found: list[Key] = []
    for axis, (less, more) in enumerate(_PAIRS[: len(names)]):
        found.append(Key(key=less, label=f"{names[axis]} -", axis=axis, share=-1.0))
        found.append(Key(key=more, label=f"{names[axis]} +", axis=axis, share=1.0))
    return tuple(found)


_AXES: dict[str, tuple[Key, ...]] = {
    # A positive torque turns counterclockwise: the upper end moves to the left.
    "Pendulum-v1": (
        Key(key="ArrowLeft", label="turn left", axis=0, share=1.0),
        Key(key="ArrowRight", label="turn right", axis=0, share=-1.0),
    ),
    "LunarLanderContinuous-v3": (
        Key(key="ArrowLeft", label="left engine", axis=1, share=-1.0),
        Key(key="ArrowUp", label="main engine", axis=0, share=1.0),
        Key(key="ArrowRight", label="right engine", axis=1, share=1.0),
    ),
    "CarRacing-v3": (
        Key(key="ArrowLeft", label="steer left", axis=0, share=-1.0),
        Key(key="ArrowUp", label="gas", axis=1, share=1.0),
        Key(key="ArrowDown", label="brake", axis=2, share=0.8),
        Key(key="ArrowRight", label="steer right", axis=0, share=1.0),
    ),
    "MountainCarContinuous-v0": (
        Key(key="ArrowLeft", label="push left", axis=0, share=-1.0),
        Key(key="ArrowRight", label="push right", axis=0, share=1.0),
    ),
}
