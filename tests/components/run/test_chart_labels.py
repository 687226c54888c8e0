from app.catalog.environments.catalogue import CATALOGUE
from components.run.curves import action_labels


def test_lines_of_actions_have_the_names_of_the_actions() -> None:
    assert action_labels(CATALOGUE["CartPole-v1"]) == {"0": "push left", "1": "push right"}
    assert action_labels(CATALOGUE["Pendulum-v1"]) == {"0": "torque"}
