from fastapi import FastAPI
from starlette.testclient import TestClient

from pages import not_found


def test_a_failing_page_reports_an_error_without_internal_details() -> None:
    site = FastAPI()
    not_found.register(site)

    @site.get("/breaks")
    async def fail() -> None:
        raise FileNotFoundError("/srv/lab/.secret")

    with TestClient(site, raise_server_exceptions=False) as browser:
        answer = browser.get("/breaks")

    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert ".secret" not in answer.text
