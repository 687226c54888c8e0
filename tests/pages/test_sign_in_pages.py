"""Values sent to the sign-in pages are shown there as text."""

from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from fastapi import Request

from pages.plain import plain_page
from tests.app.accounts.users import client
from tests.lab_server import LabServer

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7 * 7 }}&lt;"


class ParsedPage(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, str | None] = {}
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert tag not in {"script", "img"}
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "input":
            self.fields[attributes["name"] or ""] = attributes.get("value")
        self.links += [attributes[name] or "" for name in ("href", "action") if name in attributes]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "form", "name", "expected"),
    [
        ("/login", {"email": HOSTILE}, "email", HOSTILE),
        ("/login", {"next": f"/{HOSTILE}"}, "next", f"/{HOSTILE}"),
        ("/login", {"next": "javascript:alert(1)"}, "next", "/"),
        ("/register", {"name": HOSTILE}, "name", HOSTILE),
        ("/reset", {"code": HOSTILE}, "code", HOSTILE),
    ],
    ids=["e-mail", "next", "next as a script", "name", "code"],
)
def test_a_form_shows_submitted_values_as_text(
    guarded: LabServer, path: str, form: dict[str, str], name: str, expected: str
) -> None:
    with client(guarded.url) as browser:
        answer = browser.post(path, data=form)

    page = ParsedPage(answer.text)
    assert page.fields[name] == expected
    assert all(link.startswith("/") for link in page.links)


@pytest.mark.parametrize("user_id", [None, "a" * 32])
def test_names_from_an_identity_provider_are_text(user_id: str | None) -> None:
    request = Request({"type": "http", "headers": []})
    identity = SimpleNamespace(user_id=user_id, provider_name=HOSTILE, email=HOSTILE)
    answer = plain_page(request, HOSTILE, "account/external.html", found=identity, message=HOSTILE)

    assert ParsedPage(bytes(answer.body).decode()).text.count(HOSTILE) >= 3


def test_a_provider_is_linked_with_a_local_path() -> None:
    request = Request({"type": "http", "headers": []})
    providers = [SimpleNamespace(id=HOSTILE, name=HOSTILE)]
    values = {"target": f"/{HOSTILE}", "email": "", "is_first": False, "providers": providers}
    page = ParsedPage(bytes(plain_page(request, "x", "account/login.html", **values).body).decode())  # type: ignore[arg-type]  # no status

    assert f"Sign in with {HOSTILE}" in page.text
    assert all(link.startswith("/") for link in page.links)
