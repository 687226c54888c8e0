"""Which keys play an environment; all that can be acted in by choices or few numbers has some."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.catalog.environments.spec import ActionKind, EnvSpec

Action = int | tuple[float, ...]
"""One of several choices, or a list of numbers."""

_LIVE_FAMILIES = frozenset({"classic control", "box2d", "atari", "mujoco"})
"""Worlds that go on by themselves; all others wait for a move."""
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
_RESTING = frozenset({"wait", "coast", "no torque", "noop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key, and the button on the screen that does the same."""

    key: str
    """As browsers call it."""
    label: str
    """What it does."""
    action: int | None = None
    """What it chooses by itself, where actions are choices."""
    axis: int = 0
    """Which number it moves, where they are lists of numbers."""
    share: float = 0.0
    """How far: 1 is to the highest, -1 to the lowest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMap:
    """How keys that are held down become actions."""

    keys: tuple[Key, ...]
    is_live: bool
    """Whether the world goes on by itself; else each key pressed is one step."""
    chords: Mapping[frozenset[str], int]
    """What several keys held together choose."""
    idle: tuple[int, ...] = ()
    """What is done in turn while no key is held."""
    idle_words: str = ""
    """What that means, where it isn't doing nothing."""

    def choose(self, pressed: Sequence[str]) -> tuple[int, ...]:
        """Return the choices to make in turn while these keys are held, the newest last."""
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
        """Return the numbers that held keys and moved sliders say; the rest of them rest."""
        values = [resting(low, high) for low, high in bounds]
        for key in self.keys:
            if key.key in pressed and key.axis < len(values):
                low, high = bounds[key.axis]
                values[key.axis] = high * key.share if key.share > 0 else low * -key.share
        for axis, value in moved.items():
            if 0 <= axis < len(values):
                low, high = bounds[axis]
                values[axis] = min(max(value, low), high)
        return tuple(values)


def resting(low: float, high: float) -> float:
    """Return the value that does nothing, or as little as possible."""
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
    idle = tuple(i for i, label in enumerate(labels) if label in _RESTING)[:1]
    if spec.id == "CartPole-v1":
        return KeyMap(
            keys=_by_words(labels)[0],
            is_live=True,
            chords={},
            idle=(0, 1),
            idle_words="Without a key the cart is pushed to the left and to the right in turn.",
        )
    keys, chords = _by_words(labels)
    return KeyMap(keys=keys, is_live=is_live and bool(idle), chords=chords, idle=idle)


def _by_words(labels: Sequence[str]) -> tuple[tuple[Key, ...], dict[frozenset[str], int]]:
    """Find keys by what actions are called, and spare ones for the rest."""
    keys: list[Key] = []
    chords: dict[frozenset[str], int] = {}
    left: list[int] = []
    for action, label in enumerate(labels):
        words = _TORQUES.get(label, label)
        buttons = frozenset(_BUTTONS[word] for word in words.split() if word in _BUTTONS)
        if label in _RESTING:
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
"""Where a name doesn't say a direction that the eye sees."""
_LABELS = {"ALE/Pong-v5": ("wait", "fire", "up", "down", "up and fire", "down and fire")}
"""Pong's joystick goes to the right, its bat goes up."""


def _pairs(spec: EnvSpec) -> tuple[Key, ...]:
    """Give each of the first numbers of an action a key for less and one for more."""
    names = spec.action_labels
    found: list[Key] = []
    for axis, (less, more) in enumerate(_PAIRS[: len(names)]):
        found.append(Key(key=less, label=f"{names[axis]} -", axis=axis, share=-1.0))
        found.append(Key(key=more, label=f"{names[axis]} +", axis=axis, share=1.0))
    return tuple(found)


_AXES: dict[str, tuple[Key, ...]] = {
    # A positive torque turns against the clock: the upper end goes to the left.
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
