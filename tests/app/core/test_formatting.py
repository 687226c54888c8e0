import pytest

from app.core.formatting import NotFormattedError, format_python


async def test_code_is_laid_out() -> None:
    assert await format_python("x=  {'a':1}") == 'x = {"a": 1}\n'


async def test_nothing_of_the_code_is_run(capfd: pytest.CaptureFixture[str]) -> None:
    code = 'import os\n\nos.system("echo ran")\n'
    assert await format_python(code) == code
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("code", ["def f(:", "x = '\ud800'"])
async def test_what_is_not_python_is_refused_with_a_sentence(code: str) -> None:
    with pytest.raises(NotFormattedError, match="Not formatted: "):
        await format_python(code)
