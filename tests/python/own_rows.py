# SPDX-License-Identifier: Apache-2.0
"""scripts/lib/own_rows.py, which scores a program of one's own: the program of docs/benchmark.md gets a row in every
room, and one that fails, hangs or writes a plan that is not valid gets a sentence and no row. The argument is the
command line."""

import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BALLAST = str(pathlib.Path(sys.argv[1]).resolve())
ROOMS = ["packing", "balance", "batching", "shards"]


def rows(program, folder, rooms, limit="60"):
    command = [sys.executable, str(ROOT / "scripts/lib/own_rows.py"), BALLAST, program, limit, *rooms]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


def over(row):
    return float(re.findall(r"over ([0-9.]+)", row)[0])


def documented(folder):
    blocks = re.findall(r"\n```python\n(.*?)\n```", (ROOT / "docs/benchmark.md").read_text(), re.S)
    assert len(blocks) == 1, len(blocks)
    pathlib.Path(folder, "mine.py").write_text(blocks[0] + "\n")
    return f"{sys.executable} mine.py"


with tempfile.TemporaryDirectory() as folder:
    mine = documented(folder)
    found, said = rows(mine, folder, ROOMS)
    assert said == [], said
    assert len(found) == 2 * len(ROOMS), found
    for room, own, ballast in zip(ROOMS, found[::2], found[1::2]):
        assert own.startswith(f"| {room} | own: {mine} | ") and own.endswith(" s |"), own
        assert ballast.startswith(f"| {room} | ballast on the instance of own | "), ballast
        assert over(own) >= over(ballast) >= 1, (own, ballast)

    none = "no row: "
    started = time.monotonic()
    for program, why in {
        "echo too bad >&2; exit 3": "the program ends with status 3: too bad",
        "true": "the program wrote no plan to standard output",
        "sleep 60 & wait": "the program runs for more than 0.5 s; make it faster, or give it more by --limit",
        "echo 0 0": "plan: not a valid packing: ",
        "echo '[[[0]]]'": "plan: not valid steps: ",
        "echo '{\"boundaries\":[0]}'": "plan: holds stages; ",
        "echo a: 1": "--capacity: is for ",
    }.items():
        found, said = rows(program, folder, ["packing"], "0.5")
        assert found == [], found
        assert len(said) == 1 and said[0].startswith(f"packing: {program}: {none}{why}"), (said, why)
    assert time.monotonic() - started < 50

    # valid, but a plan of another room
    found, said = rows("seq 0 99999 | sed 's/.*/[[[&]]]/'", folder, ["packing"])
    assert found == [] and len(said) == 1 and "a plan of another kind" in said[0], (found, said)
print("own rows: as documented")
