"""Templates of custom rewards, and functions that make them."""

from dataclasses import dataclass
from textwrap import indent

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A custom reward to start from."""

    id: str
    name: str
    about: str
    code: str


def template(template_id: str, name: str, about: str, body: str, *, before: str = "") -> Template:
    """Return a template with a function of this body, below the code in `before`."""
    code = f'"""{about}"""\n\n{before}{HEAD}{indent(body, "    ")}\n'
    return Template(id=template_id, name=name, about=about, code=code)


def stateful_template(template_id: str, name: str, about: str, first: str, body: str) -> Template:
    """Return a template with a class whose `reset` is `first` and whose call has this body."""
    head = HEAD.replace("def reward(", "def __call__(self, ")
    code = (
        f'"""{about}"""\n\nimport numpy as np\n\n\nclass Reward:\n'
        f"    def reset(self):\n{indent(first, '        ')}\n\n"
        f"    {head}{indent(body, '        ')}\n"
    )
    if "np." not in body:
        code = code.replace("import numpy as np\n\n\n", "\n")
    return Template(id=template_id, name=name, about=about, code=code)


def potential(about: str, potential_body: str) -> Template:
    """Return a template with potential-based shaping, which keeps the optimal policy."""
    before = (
        "GAMMA = 0.99  # the same as the algorithm's gamma\n\n\n"
        f"def potential(obs):\n{indent(potential_body, '    ')}\n\n\n"
    )
    if "np." in potential_body:
        before = f"import numpy as np\n\n{before}"
    body = (
        "after = 0.0 if terminated else potential(next_obs)\n"
        'return {"environment": reward, "shaping": GAMMA * after - potential(obs)}'
    )
    return template("potential", "Potential-based shaping", about, body, before=before)
