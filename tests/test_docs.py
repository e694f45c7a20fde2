"""Statements of the README and the book that must hold."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page):
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor and file.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.M)
            slugs = [re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings]
            assert anchor in slugs, f"{page.name} links to {target}"


def test_every_chapter_is_in_the_summary():
    summary = (ROOT / "docs" / "SUMMARY.md").read_text(encoding="utf-8")
    for page in ROOT.glob("docs/*.md"):
        assert page.name == "SUMMARY.md" or f"({page.name})" in summary or f"(./{page.name})" in summary


def test_the_readme_opens_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("cargo run --release -- reproduce") < readme.index("cargo xtask test") < 1500


def test_the_experiment_in_the_readme_runs(banister, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", readme, flags=re.S)
    experiment = tmp_path / "readme.toml"
    experiment.write_text(block, encoding="utf-8")
    out = tmp_path / "out"
    banister("run", experiment, "--horizon", 500, "--runs", 2, "--quiet", "--out", out)
    assert (out / "report.html").exists()


def test_nothing_in_the_project_names_a_machine():
    """Paths of one machine do not belong in a project for everyone."""
    pattern = re.compile(r"/(?:home|root|work|Users)/\w")
    for page in PAGES:
        assert not pattern.search(page.read_text(encoding="utf-8")), page
