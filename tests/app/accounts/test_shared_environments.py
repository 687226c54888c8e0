"""Access to custom environments of other users."""

import pytest

from app.authoring.environments.template import TEMPLATE
from tests.app.accounts.users import ApiUser, code_of

pytestmark = pytest.mark.slow


def test_a_custom_environment_is_private_until_it_is_shared(
    admin: ApiUser, member: ApiUser, other: ApiUser
) -> None:
    created = member.api.post("/environments/custom", json={"name": "mine", "code": TEMPLATE})
    assert created.status_code == 201, created.text

    assert other.api.get("/environments/custom/mine").status_code == 404
    assert other.api.get("/environments/custom/mine-v1").status_code == 404
    body = {"env_id": "custom/mine-v1", "algorithm": "PPO"}
    assert other.api.post("/runs", json=body).status_code == 422
    assert other.api.post("/previews", json={"env_id": "custom/mine-v1"}).status_code == 422
    assert admin.api.get("/environments/custom/mine").status_code == 200
    taken = other.api.post("/environments/custom", json={"name": "mine", "code": TEMPLATE})
    assert taken.status_code == 422

    shared = member.api.patch("/environments/custom/mine", json={"visibility": "everyone"})
    assert shared.status_code == 200
    assert not other.api.get("/environments/custom/mine").json()["may_change"]
    assert other.api.get("/environments/custom/mine-v1").status_code == 200
    assert other.api.post("/runs", json=body).status_code == 201
    assert code_of(other.api.delete("/environments/custom/mine")) == "forbidden"
