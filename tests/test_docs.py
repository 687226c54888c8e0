import re
import subprocess
from pathlib import Path

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.core.settings import SETTINGS
from benchmarks.training.presets import page

ROOT = Path(__file__).parent.parent
TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", *map(str, Path("docs").glob("*.md")))


def read(name: str) -> str:
    return (ROOT / name).read_text()


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


def test_exactly_the_existing_settings_are_documented() -> None:
    documented = re.findall(
        r"^\| `(RL_LAB_\w+)` \| (?:`(--[\w-]+)`|-) ", read("docs/settings.md"), re.M
    )

    assert dict(documented) == {setting.variable: setting.flag or "" for setting in SETTINGS}


def test_every_variable_in_the_documents_exists() -> None:
    known = {setting.variable for setting in SETTINGS}

    for name in TEXTS:
        assert set(re.findall(r"RL_LAB_[A-Z_]+", read(name))) <= known, name


def test_the_architecture_lists_exactly_the_existing_folders() -> None:
    folders = {str(path.parent) for path in tracked() if path.suffix in {".py", ".css", ".js"}}
    folders -= {"."}
    named = set(re.findall(r"`([a-z_/]+)/`", read("docs/architecture.md")))

    top = {folder for folder in folders if not folder.startswith(("tests/", "docs/"))}
    assert top <= named
    for folder in named - {"runs"}:
        assert (ROOT / folder).is_dir(), folder


def test_the_tree_in_the_readme_exists() -> None:
    tree = read("README.md").split("## What is where")[1].split("```")[1]
    names = re.findall(r"^ *([\w.]+/?) {2,}", tree, re.M)

    assert {"main.py", "pages/", "components/", "app/", "storage/", "runs/", "tests/"} <= set(names)
    for name in names:
        found = (ROOT / name).exists() or (ROOT / "app" / name).exists()
        assert found or name == "runs/", name


def test_links_between_documents_work() -> None:
    for name in TEXTS:
        for target in re.findall(r"\]\(([^)#]+)\)", read(name)):
            if "://" not in target:
                assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_the_presets_page_shows_the_measured_results() -> None:
    assert read("docs/presets.md") == page()


def test_the_readme_lists_all_environments_and_algorithms() -> None:
    text = read("README.md")

    for spec in ENVIRONMENTS.values():
        assert re.search(rf"\b{re.escape(spec.id.rsplit('-', 1)[0])}\b", text), spec.id
    for algorithm in ALGORITHMS:
        assert algorithm in text
    assert f"{len(ALGORITHMS)} algorithms on {len(ENVIRONMENTS)} environments" in text


def test_the_guide_to_environments_quotes_real_code() -> None:
    source = read("app/worker/envs/grid_world.py") + read("app/worker/envs/environments.py")

    blocks = re.findall(r"```python\n(.*?)```", read("docs/custom-environments.md"), re.S)

    assert len(blocks) == 5
    for block in blocks:
        assert block in source, block


def test_every_command_that_installs_a_family_uses_an_existing_extra() -> None:
    extras = read("pyproject.toml").split("[project.optional-dependencies]")[1]
    needed = {spec.extra for spec in ENVIRONMENTS.values() if spec.extra}

    assert {extra.name for extra in needed} <= set(re.findall(r"^(\w+) = \[", extras, re.M))
    for extra in needed:
        assert extra.command in read("README.md")


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))

    for name in TEXTS:
        assert set(re.findall(r"`make ([a-z-]+)", read(name))) <= targets, name


def test_no_file_contains_paths_of_a_machine_or_addresses_of_registries() -> None:
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
