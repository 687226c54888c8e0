"""What a template is."""

from dataclasses import dataclass
from textwrap import indent

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A reward to begin with."""

    id: str
    name: str
    about: str
    code: str


def template(template_id: str, name: str, about: str, body: str, *, before: str = "") -> Template:
    """Return a template whose code is a function with this body, below what comes `before` it."""
    code = f'"""{about}"""\n\n{before}{HEAD}{indent(body, "    ")}\n'
    return Template(id=template_id, name=name, about=about, code=code)


def remembering(template_id: str, name: str, about: str, first: str, body: str) -> Template:
    """Return a template whose code is a class that sets `first` before each episode."""
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
    """Return a template that pays the change of a potential, which leaves the best policy best."""
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
