from fastapi import FastAPI
from starlette.testclient import TestClient

from pages import not_found


def test_a_page_that_breaks_says_so_and_nothing_of_the_server() -> None:
    site = FastAPI()
    not_found.register(site)

    @site.get("/breaks")
    async def breaks() -> None:
        raise FileNotFoundError("/srv/lab/.secret")

    with TestClient(site, raise_server_exceptions=False) as browser:
        answer = browser.get("/breaks")

    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert ".secret" not in answer.text
