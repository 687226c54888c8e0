from app.catalog.environments.catalogue import ENVIRONMENTS
from components.run.curves import action_labels


def test_lines_of_actions_are_labelled_with_the_action_names() -> None:
    assert action_labels(ENVIRONMENTS["CartPole-v1"]) == {"0": "push left", "1": "push right"}
    assert action_labels(ENVIRONMENTS["Pendulum-v1"]) == {"0": "torque"}
