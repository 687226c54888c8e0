"""The protocols under which Atari games are played."""

from typing import Literal

AtariProtocol = Literal["v5", "NoFrameskip-v4"]
V5: AtariProtocol = "v5"
"""Of `ALE/*-v5` (Machado et al. 2018): sticky actions and frame skip inside the emulator."""
NO_FRAMESKIP: AtariProtocol = "NoFrameskip-v4"
"""The classic one (Mnih et al. 2015): no-op starts, frame skip with max-pooling, lives."""

STICKY_ACTIONS: dict[AtariProtocol, float] = {V5: 0.25, NO_FRAMESKIP: 0.0}
"""The `repeat_action_probability` of each protocol."""
FRAME_SKIP = 4
"""Frames of the emulator per action, in both protocols."""
