"""The file of the log: complete after a stop, copied while it is used, and missed when it is gone."""

import shutil

from .experiments import ARMS
from .log import rebuild

PATH = "/v1/experiments/arms"
STOPS = 8


def test_a_clean_stop_leaves_a_complete_file(serve, tmp_path):
    server = serve()
    server.post("/v1/experiments", ARMS | {"ttl_seconds": 3600}).ok(201)
    for stop in range(STOPS):
        for i in range(3):
            server.post(f"{PATH}/decisions", {"id": f"{stop}-{i}"}).ok(200)
        # Readers of every kind have a connection.
        assert server.get(f"{PATH}/decisions").ok(200)["decisions"]
        assert server.get(f"{PATH}/export").status == 200
        assert server.stop() == 0
        assert not (server.data_dir / "banister.db-wal").exists()
        copy = tmp_path / f"copy-{stop}"
        copy.mkdir()
        shutil.copy(server.data_dir / "banister.db", copy)
        rebuilt = rebuild(copy)
        assert rebuilt == rebuild(server.data_dir) and rebuilt["events"] >= 3 * (stop + 1)
        server.start().ready()
