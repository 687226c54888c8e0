"""What a card says of an environment."""

from urllib.parse import quote

from app.catalog.environments.spec import EnvSpec, ObservationKind


def picture_address(spec: EnvSpec) -> str:
    """Return where its rendered picture is."""
    return f"/api/environments/{quote(spec.id)}/preview.png"


def action_words(spec: EnvSpec) -> str:
    """Say how one acts in it."""
    return spec.action_kind.replace("_", " ")


def observation_words(spec: EnvSpec) -> str:
    """Say what one sees of it, such as `box(4)`."""
    is_picture = spec.observation_kind is ObservationKind.IMAGE
    sides = spec.observation_shape[:2] if is_picture else spec.observation_shape
    return f"{spec.observation_kind}({'x'.join(map(str, sides))})"
