"""Files to import that are damaged, hostile or of something else; and what an export gives back."""

import csv
import io

import pyarrow
import pyarrow.parquet
import pytest

from .experiments import ALL, create_all
from .server import rebuild

CSV = {"content-type": "text/csv"}
ARMS = "/v1/experiments/arms"


@pytest.fixture
def server(serve):
    server = serve()
    create_all(server)
    yield server
    assert server.process.poll() is None
    assert server.get("/readyz").status == 200
    assert "a defect" not in server.log()
    assert server.stop() == 0
    rebuild(server.data_dir)


def imported(server):
    return [e["counts"]["imported"] for e in server.get("/v1/experiments").ok(200)["experiments"]]


def test_csv_files_that_are_wrong(server):
    head = b"action,reward,complaints\n"
    cases = {
        b"": None,
        head: "rows",
        b"\n\n\n": None,
        b"\0\0\0\0": None,
        b"\xff\xfe\xfa": None,
        b"reward,complaints\n1,0\n": "column action",
        b"action,complaints\nbold,0\n": "column reward",
        b"action,reward\nbold,1\n": "column complaints",
        head + b"nobody,1,0\n": "row 1: action",
        head + b"bold,much,0\n": "row 1: reward",
        head + b"bold,1,0\nbold,1,few\n": "row 2: complaints",
        head + b"bold,2,0\n": "row 1: reward",
        head + b"bold,1,0\nbold,1,-1\n": "row 2: ",
        head + b"bold,inf,0\n": "row 1: reward",
        head + b"bold,1e999,0\n": "row 1: reward",
        head + b"bold,1\n": None,
        head + b"bold,1,0,0\n": None,
        head + b'"bold,1,0\n': None,
        head + b"bold,\xff,0\n": None,
        b"action,reward,complaints,reward\nbold,1,0,0\n": None,
        b"\x1f\x8b\x08\x00" + bytes(range(256)): None,
    }
    for content, field in cases.items():
        answer = server.post(f"{ARMS}/import", content, headers=CSV)
        assert answer.status in (400, 422), (content, answer)
        problem = answer.problem(answer.status)
        if field:
            assert problem["field"].startswith(field), (content, problem)
    assert imported(server) == [0] * len(ALL)


def test_rows_without_an_outcome_are_left_out(server):
    content = b"action,reward,complaints\nbold,,0\nbold,1,\nbold,nan,0\nbold,1,0\n"
    assert server.post(f"{ARMS}/import", content, headers=CSV).ok(200)["outcomes"] == 1


def test_other_kinds_of_files_are_refused(server):
    good = b"action,reward,complaints\nbold,1,0\n"
    for kind in ["application/vnd.apache.parquet", "application/octet-stream"]:
        problem = server.post(f"{ARMS}/import", good, headers={"content-type": kind}).problem(415, "content-type")
        assert "text/csv" in problem["detail"]
    file = io.BytesIO()
    table = pyarrow.table({"action": ["bold"], "reward": [0.5], "complaints": [0.25]})
    pyarrow.parquet.write_table(table, file)
    assert server.post(f"{ARMS}/import", file.getvalue(), headers=CSV).status in (400, 422)
    assert imported(server) == [0] * len(ALL)


def as_csv(file):
    """A Parquet file as CSV."""
    columns = pyarrow.parquet.read_table(io.BytesIO(file)).to_pydict()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_is_exported_can_be_imported(server, format):
    for declaration in ALL:
        path = f"/v1/experiments/{declaration['name']}"
        file = server.get(f"{path}/export?format={format}")
        assert file.status == 200 and file.body
        content = file.body if format == "csv" else as_csv(file.body)
        other = f"copy-of-{declaration['name']}"
        server.post("/v1/experiments", declaration | {"name": other}).ok(201)
        if "ttl_seconds" in declaration:
            # Outcomes wait for their time: nobody learns from them before.
            server.post(f"/v1/experiments/{other}/import", content, headers=CSV).problem(422, "rows")
            continue
        # One of its decisions has a whole outcome; without guardrails the reward alone is one.
        answer = server.post(f"/v1/experiments/{other}/import", content, headers=CSV).ok(200)
        assert answer["outcomes"] == 1
        assert server.get(f"/v1/experiments/{other}").ok(200)["counts"]["imported"] == 1
    # A file of another experiment does not fit.
    answer = server.post("/v1/experiments/context/import", server.get(f"{ARMS}/export").body, headers=CSV)
    assert answer.problem(422)["field"].startswith("column ")


#: Guardrails that would have the name of another column, or of each other's.
ODD = [
    "reward",
    "cost_reward",
    "cost_cost_reward",
    "cost_",
    "cost_spend",
    "spend",
    "context_0",
    "cost_context_0",
    "time",
]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_no_two_columns_have_one_name(server, format):
    rails = [{"name": name, "at_most": 0.9} for name in ODD]
    declared = {"name": "odd", "arms": ["a", "b"], "safe": "a", "guardrails": rails}
    for name in ["odd", "copy"]:
        server.post("/v1/experiments", declared | {"name": name}).ok(201)
    costs = {name: (1 + i) / 16 for i, name in enumerate(ODD)}
    server.post("/v1/experiments/odd/decisions", {"id": "=1+1"}).ok(200)
    server.post("/v1/experiments/odd/outcomes", {"decision": "=1+1", "reward": 0.5, "costs": costs}).ok(200)
    file = server.get(f"/v1/experiments/odd/export?format={format}").body
    if format == "csv":
        names, row = csv.reader(io.StringIO(file.decode()))
    else:
        table = pyarrow.parquet.read_table(io.BytesIO(file))
        names, row = table.column_names, [column[0].as_py() for column in table.columns]
    assert len(set(names)) == len(names) == 9 + len(ODD)
    cells = dict(zip(names, row, strict=True))
    assert {"cost_reward", "cost_cost_reward", "cost_cost_cost_reward", "cost_spend", "spend", "cost_"} <= set(names)
    assert float(cells["reward"]) == 0.5 and float(cells["cost_reward"]) == costs["reward"]
    mark = {"csv": "'", "parquet": ""}[format]
    assert float(cells["cost_spend"]) == costs["cost_spend"] and cells["decision"] == f"{mark}=1+1"
    # What is read back are the same costs: by now the estimates of both are the same.
    content = file if format == "csv" else as_csv(file)
    assert server.post("/v1/experiments/copy/import", content, headers=CSV).ok(200)["outcomes"] == 1
    arms = [server.get(f"/v1/experiments/{name}/state").ok(200)["arms"][0] for name in ["odd", "copy"]]
    assert [rail["mean"] for rail in arms[1]["guardrails"]] == list(costs.values())
    assert arms[0]["guardrails"] == arms[1]["guardrails"]


def test_formulas_are_marked(server):
    names = ["=cmd|' /C calc'!A0", "+1", "-1", "@sum", "plain", "'=1"]
    rail = {"name": "=HYPERLINK(1)", "at_most": 0.9}
    declared = {"name": "sheet", "shadow": True, "arms": ["control", *names], "safe": "control", "guardrails": [rail]}
    server.post("/v1/experiments", declared).ok(201)
    for i, name in enumerate(names):
        server.post("/v1/experiments/sheet/decisions", {"id": f"={i}", "taken": name}).ok(200)
        outcome = {"decision": f"={i}", "reward": 1, "costs": {rail["name"]: 0}}
        server.post("/v1/experiments/sheet/outcomes", outcome).ok(200)

    def columns(query):
        rows = list(csv.DictReader(io.StringIO(server.get(f"/v1/experiments/sheet/export{query}").body.decode())))
        return list(rows[0]), [row["decision"] for row in rows], [row["action"] for row in rows]

    marked = {"?escape=none": [], "": [0, 5], "?escape=formulas": [0, 1, 2, 3, 5]}
    for query, places in marked.items():
        head, ids, actions = columns(query)
        mark = "'" if places else ""
        assert mark + rail["name"] in head and ids == [f"{mark}={i}" for i in range(6)]
        assert actions == [f"'{name}" if i in places else name for i, name in enumerate(names)]
        # They come back as what they are.
        file = server.get(f"/v1/experiments/sheet/export{query}").body
        again = server.post("/v1/experiments/sheet/import", file, headers={"content-type": "text/csv"})
        if places:
            assert again.ok(200)["outcomes"] == len(names)
