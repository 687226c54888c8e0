"""Texts and links on the card of an environment."""

from urllib.parse import quote

from app.catalog.environments import EnvSpec, ObservationKind


def picture_address(spec: EnvSpec) -> str:
    """Return the URL of its preview image."""
    return f"/api/environments/{quote(spec.id)}/preview.png"


def action_words(spec: EnvSpec) -> str:
    """Return the kind of its action space, in words."""
    return spec.action_kind.replace("_", " ")


def observation_words(spec: EnvSpec) -> str:
    """Return the kind and shape of its observations, such as `box(4)`."""
    is_picture = spec.observation_kind is ObservationKind.IMAGE
    sides = spec.observation_shape[:2] if is_picture else spec.observation_shape
    return f"{spec.observation_kind}({'x'.join(map(str, sides))})"
