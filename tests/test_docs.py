"""Statements of the README and the book that must hold."""

import csv
import json
import os
import pathlib
import re
import statistics

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
    docs = ROOT / "docs"
    summary = (docs / "SUMMARY.md").read_text(encoding="utf-8")
    pages = [page.relative_to(docs) for page in [*docs.glob("*.md"), *docs.glob("reference/*.md")]]
    assert [page for page in pages if f"({page})" not in summary] == [pathlib.Path("SUMMARY.md")]


def test_the_book_is_short_and_the_readme_shorter():
    """Pages that people write; those of the reference are made from the program."""
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").glob("*.md")}
    assert sum(words.values()) <= 40_000, words
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_the_commands_of_the_book_are_what_the_programs_say():
    """`BLESS=1` writes the page, from texts that the tests of both programs hold against them."""
    page = "# Commands\n\nWhat the two programs say to `--help`. This page is made from them.\n"
    for program in ("banister-cli", "banisterd"):
        golden = (ROOT / "crates" / program / "tests" / "golden" / "help.txt").read_text(encoding="utf-8")
        calls = re.findall(
            r"^\$ (\S[^\n]*) --help\nexit code 0\n-- expected stdout --\n(.*?)(?=^====|\Z)", golden, re.M | re.S
        )
        for typed, answer in sorted(calls):
            page += f"\n## {typed}\n\n```text\n{answer.strip()}\n```\n"
    path = ROOT / "docs" / "reference" / "commands.md"
    if "BLESS" in os.environ:
        path.write_text(page, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page, "commands changed: `cargo xtask book` writes the page anew"


def test_every_column_of_results_is_in_the_book(banister, tmp_path):
    experiment, out = tmp_path / "readme.toml", tmp_path / "out"
    banister("init", experiment)
    banister("run", experiment, "--horizon", 500, "--runs", 1, "--quiet", "--out", out)
    page = (ROOT / "docs" / "reference" / "columns.md").read_text(encoding="utf-8")
    known = re.findall(r"`([\w]+)`", page)
    patterns = [re.sub("NAME|ARM", ".+", name) for name in known]
    for table in ("curves.csv", "runs.csv"):
        header = (out / table).read_text(encoding="utf-8").splitlines()[0].split(",")
        assert [name for name in header if not any(re.fullmatch(own, name) for own in patterns)] == []


def test_the_readme_opens_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("cargo run --release -- reproduce") < readme.index("cargo xtask test") < 1500


def test_the_picture_of_the_readme_is_true(banister, tmp_path):
    banister("run", ROOT / "experiments" / "promise.toml", "--quiet", "--out", tmp_path)
    assert (tmp_path / "figures" / "curves.png").exists()
    with open(tmp_path / "runs.csv", encoding="utf-8") as file:
        violations = [(row["agent"], int(row["violations"])) for row in csv.DictReader(file)]
    assert all((count == 0) == (agent == "banister") for agent, count in violations), violations


def test_the_plan_of_the_book_is_what_the_command_says(banister, tmp_path):
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    (file,) = re.findall(r"```toml\n(.*?)```", page, flags=re.S)
    typed, answer = re.search(r"```console\n\$ banister (.*?)\n(.*?)```", page, flags=re.S).groups()
    experiment = tmp_path / "plan.toml"
    experiment.write_text(file, encoding="utf-8")
    said = banister(*typed.replace(experiment.name, str(experiment)).split(), "--quiet").stdout
    assert [line.rstrip() for line in answer.split("\n") if line] == [line for line in said.split("\n") if line]


def test_verdicts_on_published_numbers_are_those_of_the_book(banister):
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    verdicts = {}
    for row in json.loads(banister("compare", "--published", "--json").stdout)["published"]:
        part = "authors" if row["suite"].startswith("authors") else row["suite"]
        detail = "violated" in row["quantity"] if part == "directions" else row["rounds"] < 1000
        verdicts.setdefault((part, part != "authors" and detail), []).append(row["verdict"])
    counts = [
        [own.count(word) for word in ("agrees", "undecided", "differs")]
        for own in (
            verdicts["authors", False],
            verdicts["paper", False],
            verdicts["paper", True],
            verdicts["directions", False],
            verdicts["directions", True],
        )
    ]
    table = re.findall(r"^\|[^|]+\| \d+% \| (\d+) \| (\d+) \| (\d+) \|$", page, flags=re.M)
    assert [[int(cell) for cell in row] for row in table] == counts


#: Instances of the suite `moving` in docs/seasons.md: the cost, and the declared drift.
SEASONS = {
    "season of 50 000": ("P = 50 000", "nothing"),
    "season of 50 000, drift declared": ("", "the truth, 1.26·10⁻⁵"),
    "season of 200 000": ("P = 200 000", "nothing"),
    "season of 200 000, drift declared": ("", "the truth, 3.14·10⁻⁶"),
    "season of 200 000, 0.6 of its drift declared": ("", "0.6 of the truth"),
    "season of 200 000, 0.3 of its drift declared": ("", "0.3 of the truth"),
    "season of 1 000 000": ("P = 1 000 000", "nothing"),
    "season of 1 000 000, drift declared": ("", "the truth, 6.28·10⁻⁷"),
    "nothing moves": ("stays at 0.25", "nothing"),
    "nothing moves, drift of a season of 200 000 declared": ("", "3.14·10⁻⁶"),
    "nothing moves, a tenth of it declared": ("", "3.14·10⁻⁷"),
    "nothing moves, a thousandth of it declared": ("", "3.14·10⁻⁹"),
}
#: Those of its table in docs/compare.md, and the agents of the columns.
MOVING = ["season of 200 000", "line", "walk"]
MOVING += ["a cost jumps from 0.1 to 0.3", "a reward falls from 0.9 to 0.4", "a reward rises from 0.2 to 0.9"]
MOVERS = ["opb", "segmented", "s_colts", "ma_ops", "lagrange_bwk", "ucb1"]


#: Instances of the suite `contexts`, and the agents of a table's columns, the first that played.
SEGMENTS = ["10 segments, 4 arms", "50 segments, 5 arms", "ceiling $3.00e-4, by class"], [["segmented"], ["opb"]]
FEATURES = (
    ["linear", "logistic", "per arm", "per arm, logistic", "xor", "quadratic"],
    [["oplb", "oplb (per arm)"], ["oplb (logistic)", "oplb (per arm, logistic)"], ["oplb (alarms ignored)"]],
)


def stored(name):
    """The rows of a stored result."""
    with open(ROOT / "experiments" / f"{name}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def played(suite):
    return {(row["instance"], row["agent"]): row for row in stored(f"{suite}/leaderboard")}


def used(row):
    return f"{1 - float(row['lost']):.0%}"


def violating(row, digits=1):
    return f"{float(row['violation_share']):.{digits}%}" if int(row["violations"]) else "0"


def plus_minus(row, name, digits, interval="interval"):
    return f"{float(row[name]):.{digits}f} ± {float(row[interval]):.{digits}f}"


def seasons():
    moving = played("moving")
    for instance, (cost, declared) in SEASONS.items():
        high, low = (moving[instance, agent] for agent in ("opb, delta = 0.1", "opb"))
        yield cost, declared, used(high), used(low), violating(high)


def moving():
    rows = played("moving")
    for instance in [own for name in MOVING for own in (name, f"{name}, drift declared")]:
        cells = [rows.get((instance, agent)) for agent in MOVERS]
        if any(cells):
            yield instance, *(f"{used(cell)}, {violating(cell)}" if cell else "refused" for cell in cells)


def routing():
    for row in stored("routing/moving"):
        if row["mode"] == "warm":
            share = plus_minus(row, "share", 2, "share_interval")
            overshoot = plus_minus(row, "overshoot", 0, "overshoot_interval")
            ceiling, quality = f"${float(row['ceiling']):g}", f"{float(row['quality']):.3f}"
            yield row["change"], ceiling, row["router"], share, quality, overshoot, row["violating"] or "–"


def day():
    for row in stored("routing/day"):
        dollars = [f"{float(row[name]):.3g}" for name in ("dollars", "most_dollars")]
        over = f"{row['over']} of {row['orders']}"
        yield f"${row['ceiling']}", row["agent"], row["promise"], plus_minus(row, "reward", 4), *dollars, over


def holdout():
    pairs = {row["agent"]: row for row in stored("holdout/overall") if row["other"] == "opb"}
    for row in stored("holdout/ranks"):
        pair = pairs.get(row["agent"])
        if row["group"] == "safe in every round" and row["mean_rank"] and pair:
            mean, low, high = (f"{float(pair[f'difference{end}']):.0%}" for end in ("", "_low", "_high"))
            few = "" if pair["instances"] == row["instances"] else f" ({pair['instances']} instances)"
            lost = f"{mean} ({low} to {high}){few}".replace("-", "−")
            yield f"`{row['agent']}`", f"{float(row['mean_rank']):.2f}", lost, f"{pair['won']}, {pair['lost']}"


def thresholds():
    for row in stored("paper/thresholds"):
        share = int(row["runs_that_violate"]) / int(row["runs"])
        yield row["threshold"], plus_minus(row, "regret", 0), f"{share:.2%}"


def contexts(instances, columns):
    rows = played("contexts")
    for instance in instances:
        cells = [next((rows[instance, own] for own in agents if (instance, own) in rows), None) for agents in columns]
        yield instance, *(f"{used(cell)}, {violating(cell, 2)}" if cell else "–" for cell in cells)


TABLES = {
    "seasons": ("seasons.md", seasons()),
    "moving": ("compare.md", moving()),
    "routing": ("llm-routing.md", routing()),
    "day": ("compare.md", day()),
    "holdout": ("compare.md", holdout()),
    "thresholds": ("reproducing.md", thresholds()),
    "segments": ("compare.md", contexts(*SEGMENTS)),
    "features": ("compare.md", contexts(*FEATURES)),
}


@pytest.mark.parametrize(("page", "rows"), TABLES.values(), ids=TABLES)
def test_tables_are_the_stored_result(page, rows):
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    assert table and table in (ROOT / "docs" / page).read_text(encoding="utf-8"), f"docs/{page} should have\n{table}"


def test_times_are_lines_of_stored_measurements():
    files = (ROOT / "benches" / "results").iterdir()
    measured = {line for file in files for line in file.read_text(encoding="utf-8").splitlines()}
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").partition("## Why it is fast")[0]
    blocks = [*re.findall(r"```text\n(.*?)```", page, flags=re.S), *re.findall(r"^\|.*$", page, flags=re.M)]
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines and not [line for line in lines if line not in measured]


#: Rows of README's table: their name, their arms, and instance and agent of the stored runs.
REGRETS = [
    ("banister, the published settings", "clipped Gaussian", "τ = {}", "published settings"),
    ("**banister, its default**", "clipped Gaussian", "τ = {}, published arms", "banister"),
    ("banister, the paper's text as written", "Bernoulli", "τ = {}", "paper's text"),
    ("**banister, its default**", "Bernoulli", "τ = {}", "banister"),
]
TAUS = ["τ = 1", "τ = 0.5", "τ = 0.2"]
MARGINS = [f"linear, Δ = {margin}" for margin in (0.05, 0.1, 0.2, 0.3, 0.4)]
MANY = [f"K = {arms}" for arms in (4, 8, 16, 32)]
#: The same of docs/reproducing.md: their name, instances and agent of the stored runs, and whether spreads are shown.
REPRODUCED = [
    ("published settings", TAUS, "published settings", True),
    ("the paper's text", TAUS, "paper's text", True),
    ("banister's default", TAUS, "banister", True),
    ("the default with `kl` intervals", TAUS, "banister, kl", True),
    ("the paper's constants, safe cost known", ["safe cost known"], "paper's constants", True),
    ("the paper's constants, our rule (`interval`)", ["safe cost unknown"], "paper's constants", True),
    ("the paper's constants, T_0 rule (corrected)", ["safe cost unknown"], "paper's T₀ rule", True),
    ("banister's default, safe cost known", ["safe cost known"], "banister", True),
    ("banister's default, safe cost unknown", ["safe cost unknown"], "banister", True),
    ("OPLB, exact, the paper's radii", ["contextual"], "OPLB, exact, paper's radii", True),
    ('OPLB, exact (`solver = "exact"`)', ["contextual"], "OPLB, exact", True),
    ("banister's default (linearised, `least`, `multiscale` radii)", ["contextual"], "banister", True),
    ("OPLB, exact", MARGINS, "OPLB, exact", False),
    ("OPLB, linearised, the paper's constants", MARGINS, "OPLB, linearised", False),
    ("banister's default", MARGINS, "banister", False),
    ("OPB", MANY, "OPB", False),
    ("OPLB", MANY, "OPLB", False),
]


def grouped(x, digits=0):
    """Returns a number as the book writes it: groups of digits apart from five digits on."""
    return f"{x:,.{digits}f}".replace(",", " " if x >= 9999.5 else "")


def test_regrets_are_those_of_the_stored_runs_of_reproduce():
    runs = stored("paper/runs")

    def values(instance, agent, column="regret"):
        own = [float(row[column]) for row in runs if (row["instance"], row["agent"]) == (instance, agent)]
        assert own, (instance, agent)
        return own

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, arms, instance, agent in REGRETS:
        own = [values(instance.format(tau), agent) for tau in ("1", "0.5", "0.2")]
        cells = [f"{grouped(statistics.mean(one))} ± {grouped(statistics.stdev(one))}" for one in own]
        cells = [f"**{cell}**" if name.startswith("**") else cell for cell in cells]
        row = " | ".join([name, arms, *cells])
        assert f"| {row} |" in readme, f"README.md should have | {row} |"
    for arms, suffix in (("Bernoulli", ""), ("clipped Gaussian", ", published arms")):
        limits = [values(instance + suffix, "banister", "limit")[0] for instance in TAUS]
        row = " | ".join(grouped(limit, int(0 < limit < 10)) for limit in limits)
        assert f"| *limit* | {arms} | {row} |" in readme, row
    broken = [int(row["violations"]) for row in runs if row["instance"].startswith("τ") and int(row["violations"])]
    assert broken == [110] and "at τ = 0.2, in 110 of\nits million rounds" in readme
    page = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")
    for name, instances, agent, spread in REPRODUCED:
        cells = []
        for instance in instances:
            own = values(instance, agent)
            mean, deviation = statistics.mean(own), statistics.stdev(own)
            digits = int(spread and mean < 100)
            cells.append(grouped(mean, digits) + f" ± {grouped(deviation, digits)}" * spread)
        row = " | ".join([name, *cells])
        assert f"| {row} |" in page, f"docs/reproducing.md should have | {row} |"


def test_nothing_in_the_project_names_a_machine():
    """Paths of one machine do not belong in a project for everyone."""
    pattern = re.compile(r"/(?:home|root|work|Users)/\w")
    for page in PAGES:
        assert not pattern.search(page.read_text(encoding="utf-8")), page
