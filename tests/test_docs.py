import re
import subprocess
from pathlib import Path

from app.catalog.algorithms.catalogue import CATALOGUE as ALGORITHMS
from app.catalog.environments.catalogue import CATALOGUE as ENVIRONMENTS
from app.core.settings import SETTINGS
from benchmarks.presets import page

ROOT = Path(__file__).parent.parent
TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", *map(str, Path("docs").glob("*.md")))


def read(name: str) -> str:
    return (ROOT / name).read_text()


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


def test_every_setting_is_documented_and_no_other() -> None:
    documented = re.findall(
        r"^\| `(RL_LAB_\w+)` \| (?:`(--[\w-]+)`|-) ", read("docs/settings.md"), re.M
    )

    assert dict(documented) == {setting.variable: setting.flag or "" for setting in SETTINGS}


def test_every_variable_that_a_text_names_exists() -> None:
    known = {setting.variable for setting in SETTINGS}

    for name in TEXTS:
        assert set(re.findall(r"RL_LAB_[A-Z_]+", read(name))) <= known, name


def test_the_architecture_names_every_folder_and_no_other() -> None:
    folders = {str(path.parent) for path in tracked() if path.suffix in {".py", ".css", ".js"}}
    folders -= {"."}
    named = set(re.findall(r"`([a-z_/]+)/`", read("docs/architecture.md")))

    top = {folder for folder in folders if not folder.startswith(("tests/", "docs/"))}
    assert top <= named
    for folder in named - {"runs"}:
        assert (ROOT / folder).is_dir(), folder


def test_the_readme_tree_is_the_real_one() -> None:
    tree = read("README.md").split("## What is where")[1].split("```")[1]
    names = re.findall(r"^ *([\w.]+/?) {2,}", tree, re.M)

    assert {"main.py", "pages/", "components/", "app/", "storage/", "runs/", "tests/"} <= set(names)
    for name in names:
        found = (ROOT / name).exists() or (ROOT / "app" / name).exists()
        assert found or name == "runs/", name


def test_links_between_the_documents_lead_somewhere() -> None:
    for name in TEXTS:
        for target in re.findall(r"\]\(([^)#]+)\)", read(name)):
            if "://" not in target:
                assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_the_page_of_presets_shows_what_was_measured() -> None:
    assert read("docs/presets.md") == page()


def test_the_readme_names_what_can_be_trained() -> None:
    text = read("README.md")

    for spec in ENVIRONMENTS.values():
        assert re.search(rf"\b{re.escape(spec.id.rsplit('-', 1)[0])}\b", text), spec.id
    for algorithm in ALGORITHMS:
        assert algorithm in text


def test_the_guide_to_environments_shows_real_code() -> None:
    real = read("app/worker/envs/grid_world.py") + read("app/worker/envs/environments.py")

    blocks = re.findall(r"```python\n(.*?)```", read("docs/custom-environments.md"), re.S)

    assert len(blocks) == 5
    for block in blocks:
        assert block in real, block


def test_every_command_that_adds_a_family_names_an_extra() -> None:
    extras = read("pyproject.toml").split("[project.optional-dependencies]")[1]
    needed = {spec.extra for spec in ENVIRONMENTS.values() if spec.extra}

    assert {extra.name for extra in needed} <= set(re.findall(r"^(\w+) = \[", extras, re.M))
    for extra in needed:
        assert extra.command in read("README.md")


def test_every_make_target_that_a_text_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))

    for name in TEXTS:
        assert set(re.findall(r"`make ([a-z-]+)", read(name))) <= targets, name


def test_nothing_names_a_path_of_a_machine_or_a_registry() -> None:
    forbidden = re.compile(r"/root/|/home/\w|registry\.npmjs|pypi\.org|files\.pythonhosted")

    for path in tracked():
        if path.suffix in {".py", ".md", ".toml", ".json", ".js", ".css", ""} and path != Path(
            "tests/test_docs.py"
        ):
            assert not forbidden.search((ROOT / path).read_text()), path


def test_every_direct_dependency_is_pinned() -> None:
    text = read("pyproject.toml").split("[project.optional-dependencies]")
    listed = re.findall(r'^ +"([\w\[\],.-]+[<>=~!][^"]*)"', text[0], re.M)

    assert "torch==2.13.0" in listed
    assert all("==" in requirement for requirement in listed)
