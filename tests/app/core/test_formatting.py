import pytest

from app.core.formatting import NotFormattedError, format_python


async def test_code_is_formatted() -> None:
    assert await format_python("x=  {'a':1}") == 'x = {"a": 1}\n'


async def test_formatting_does_not_execute_the_code(capfd: pytest.CaptureFixture[str]) -> None:
    code = 'import os\n\nos.system("echo ran")\n'
    assert await format_python(code) == code
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("code", ["def f(:", "x = '\ud800'"])
async def test_invalid_python_is_refused_with_a_message(code: str) -> None:
    with pytest.raises(NotFormattedError, match="Not formatted: "):
        await format_python(code)
