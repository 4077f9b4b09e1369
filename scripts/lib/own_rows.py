# SPDX-License-Identifier: Apache-2.0
"""own_rows.py BALLAST PROGRAM SECONDS ROOM...: rows of a program of one's own for the table of scripts/benchmark.

PROGRAM is a line of the shell. For each room it reads the instance, a JSON object, from standard input, and writes its plan to standard
output, in the form that `ballast check` reads (docs/benchmark.md). `ballast check --json` scores the plan. A program that fails, takes
longer than SECONDS or writes a plan that is not valid gets one sentence on standard error, and no row."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

BALLAST, PROGRAM, SECONDS, ROOMS = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:]
COST = {"linear": 24576, "quadratic": 1}  # nanoseconds of a token, and of a squared length


def drawn(like, samples, longest):
    text = subprocess.run([BALLAST, "generate", "--like", like, "--samples", str(samples), "--seed", "1"], check=True, capture_output=True, text=True)
    return [min(int(line), longest) for line in text.stdout.split()]


def instance(room):
    """What the program reads, and the options of `check`."""
    if room == "packing":
        return {"capacity": 8192, "lengths": drawn("chat-sft", 100_000, 8192)}, ["--capacity", "8192"]
    if room == "balance":
        return {"sets": 64, "lengths": drawn("long-context-sft", 1024, 131072), "cost": COST}, ["--sets", "64", "--cost", "cost.json"]
    if room == "batching":
        return (
            {"capacity": 16384, "ranks": 8, "micro_batches": 4, "lengths": drawn("chat-sft", 20_000, 16384), "cost": COST},
            ["--capacity", "16384", "--cost", "cost.json"],
        )
    shards = {"gpus": 16, "capacity": 16384, "batch": 256, "lengths": drawn("long-context-sft", 1024, 131072)}
    return shards, ["--gpus", "16", "--capacity", "16384", "--batch", "256"]


def quality(room, score, own):
    if room == "packing":
        of = score if own else score["best_fit_decreasing"]
        return f"fill {of['fill']:.5g}, over {of['packs'] / score['lower_bound']:.5g}"
    of = score if own else score["ballast"]
    if room == "batching":
        return f"bound {of['any_plan_bound']:.5g}, fill {of['fill']:.5g}, over {1 + of['gap']:.5g}, slow {of['slowest_over_mean']:.5g}"
    return f"over {1 + of['gap']:.5g}, wait {of['idle']:.5g}"


def last_line(text):
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing on standard error"


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class NoRow(Exception):
    pass


def run_program(given, plan):
    """Runs the program with all that it starts, which ends with it. Returns its CPU seconds."""
    before = cpu_of_children()
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as reads:
        reads.write(json.dumps(given).encode())
        reads.seek(0)
        program = subprocess.Popen(PROGRAM, shell=True, stdin=reads, stdout=plan, stderr=errors, start_new_session=True)
        try:
            status = program.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        program.wait()
        errors.seek(0)
        if status is None:
            raise NoRow(f"the program runs for more than {SECONDS:g} s; make it faster, or give it more by --limit")
        if status != 0:
            raise NoRow(f"the program ends with status {status}: {last_line(errors.read())}")
    return cpu_of_children() - before


def rows_of(room):
    given, options = instance(room)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        with open(path("lengths"), "w") as out:
            out.writelines(f"{length}\n" for length in given["lengths"])
        with open(path("cost.json"), "w") as out:  # milliseconds, as `calibrate --json` prints them
            json.dump({"coefficients": {"constant": 0, **{term: value * 1e-6 for term, value in COST.items()}}}, out)
        with open(path("plan"), "wb") as plan:
            seconds = run_program({"room": room, **given}, plan)
        if os.path.getsize(path("plan")) == 0:
            raise NoRow("the program wrote no plan to standard output")
        score = subprocess.run([os.path.abspath(BALLAST), "check", "plan", "lengths", *options, "--json"], cwd=folder, capture_output=True)
        if score.returncode != 0:
            raise NoRow(last_line(score.stderr))
        try:
            found = json.loads(score.stdout)
            return [
                f"| {room} | own: {PROGRAM} | {quality(room, found, True)} | {seconds:.3g} s |",
                f"| {room} | ballast on the instance of own | {quality(room, found, False)} |  |",
            ]
        except (KeyError, ValueError):
            raise NoRow("its output is a plan of another kind than the room's; docs/benchmark.md shows each") from None


for room in ROOMS:
    try:
        print(*rows_of(room), sep="\n")
    except NoRow as why:
        print(f"{room}: {PROGRAM}: no row: {why}", file=sys.stderr)
