# SPDX-License-Identifier: Apache-2.0
"""The order of a training step's operators by an integer program, beside the search of `ballast order`. Needs highspy
(HiGHS) and numpy:

    python benchmarks/python/order_by_integer_program.py --model gpt2-xl.json --length 1024 [--ballast PROGRAM]
    python benchmarks/python/order_by_integer_program.py --graph step.json --limit 300

The program is the usual one for orders alone: a variable says whether an operator has run by the end of a step, one
operator a step, and another whether a piece of memory is in use in a step; the largest sum of a step is least. Steps
in which an operator cannot run, for what must run before or behind it, are fixed beforehand (`--plain` leaves that to
HiGHS). Both see the same graph, which `ballast order` writes. Printed are both peaks, what each proves, and how many
times as long the integer program takes, in processor time.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import highspy
import numpy as np

UNIT = 1 << 20  # bytes that the program counts as 1


class Problem:
    """Operators, what must run before what, and the pieces of memory that tensors are in."""

    def __init__(self, graph):
        self.operators = graph["operators"]
        tensors = graph["tensors"]
        number = {t["name"]: i for i, t in enumerate(tensors)}
        names = lambda listed: [number.get(t, t) for t in listed]
        shares = [t.get("view_of", t.get("in_place_of")) for t in tensors]
        shares = [None if s is None else number.get(s, s) for s in shares]

        def root(t, views_only):  # the tensor whose memory this one uses, or whose content it shows
            while shares[t] is not None and not (views_only and "in_place_of" in tensors[t]):
                t = shares[t]
            return t

        maker, readers, self.users = {}, {}, {}
        for o, operator in enumerate(self.operators):
            for t in names(operator["outputs"]):
                maker[t] = o
                self.users.setdefault(root(t, False), set()).add(o)
            for t in names(operator["inputs"]):
                readers.setdefault(root(t, True), set()).add(o)
                self.users.setdefault(root(t, False), set()).add(o)
        self.before = set()
        for o, operator in enumerate(self.operators):
            self.before |= {(maker[t], o) for t in names(operator["inputs"]) if t in maker}
            for t in names(operator["outputs"]):
                if "in_place_of" in tensors[t]:
                    self.before |= {(r, o) for r in readers.get(root(shares[t], True), ()) if r != o}
        kept = {root(t, False) for t, of in enumerate(tensors) if of.get("kept", of.get("kind") in ("parameter", "state"))}
        self.always, self.pieces = 0, []  # bytes in use all the time; (bytes, maker or None, users or None if it stays)
        for t, of in enumerate(tensors):
            if shares[t] is not None or of["bytes"] == 0:
                continue
            if t not in maker and (t in kept or t not in self.users):
                self.always += of["bytes"] if t in kept else 0
            elif t in maker or t in self.users:
                self.pieces.append((of["bytes"], maker.get(t), None if t in kept else self.users[t]))

    def spans(self):
        """The first and the last step in which each operator can run."""
        n = len(self.operators)
        ahead = [0] * n  # bits of all that must run before; the order of the graph is one that can run
        for a, b in sorted(self.before, key=lambda pair: pair[1]):
            ahead[b] |= ahead[a] | 1 << a
        behind = [sum(row >> o & 1 for row in ahead) for o in range(n)]
        return [row.bit_count() for row in ahead], [n - 1 - many for many in behind]


def solve(problem, limit, plain):
    """The least peak that HiGHS finds, its bound in bytes, whether it is proven, and seconds of a processor."""
    n = len(problem.operators)
    pieces = problem.pieces
    ran = lambda o, t: o * n + t
    live = lambda k, t: n * n + k * n + t
    peak = n * n + len(pieces) * n
    lower, upper = np.zeros(peak + 1), np.ones(peak + 1)
    upper[peak] = highspy.kHighsInf
    if not plain:
        for o, (first, last) in enumerate(zip(*problem.spans())):
            for t in range(n):
                if t < first:
                    upper[ran(o, t)] = 0
                if t >= last:
                    lower[ran(o, t)] = 1
    starts, index, value, row_lower, row_upper = [0], [], [], [], []

    def row(terms, low, high):
        for at, by in terms:
            index.append(at)
            value.append(by)
        starts.append(len(index))
        row_lower.append(low)
        row_upper.append(high)

    infinite = highspy.kHighsInf
    for t in range(n):
        row([(ran(o, t), 1) for o in range(n)], t + 1, t + 1)
        for o in range(n):
            if t > 0:
                row([(ran(o, t), 1), (ran(o, t - 1), -1)], 0, infinite)
        for a, b in problem.before:
            row([(ran(b, t), 1)] + ([(ran(a, t - 1), -1)] if t > 0 else []), -infinite, 0)
        for k, (_, maker, users) in enumerate(pieces):  # made, and not all that use it have run before this step
            made = [] if maker is None else [(ran(maker, t), -1)]
            there = 1 if maker is None else 0
            for user in [None] if users is None else users:
                row([(live(k, t), 1)] + made + ([(ran(user, t - 1), 1)] if user is not None and t > 0 else []), there, infinite)
        terms = [(peak, 1)] + [(live(k, t), -size / UNIT) for k, (size, _, _) in enumerate(pieces)]
        for o, operator in enumerate(problem.operators):
            if operator.get("workspace", 0) > 0:
                terms.append((ran(o, t), -operator["workspace"] / UNIT))
                if t > 0:
                    terms.append((ran(o, t - 1), operator["workspace"] / UNIT))
        row(terms, 0, infinite)

    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = peak + 1, len(row_lower)
    model.col_cost_ = np.append(np.zeros(peak), 1.0)
    model.col_lower_, model.col_upper_ = lower, upper
    model.row_lower_, model.row_upper_ = np.array(row_lower, dtype=float), np.array(row_upper, dtype=float)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(starts)
    model.a_matrix_.index_ = np.array(index)
    model.a_matrix_.value_ = np.array(value, dtype=float)
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger] * (n * n) + [kinds.kContinuous] * (peak + 1 - n * n)
    solver = highspy.Highs()
    for name, setting in (("output_flag", False), ("log_to_console", False), ("time_limit", limit), ("threads", 1), ("mip_rel_gap", 1e-9)):
        solver.setOptionValue(name, setting)
    start = time.process_time()
    solver.passModel(model)
    solver.run()
    seconds = time.process_time() - start
    info = solver.getInfo()
    found = info.primal_solution_status == 2
    as_bytes = lambda units: problem.always + round(units * UNIT)
    bound = as_bytes(max(info.mip_dual_bound, 0)) if abs(info.mip_dual_bound) < 1e30 else problem.always
    proven = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return as_bytes(info.objective_function_value) if found else None, bound, proven, seconds


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--graph", help="JSON of operators and tensors")
    options.add_argument("--model", help="a preset or a model's config.json, with --length")
    options.add_argument("--length", type=int, default=1024, help="tokens of a sequence of --model")
    options.add_argument("--limit", type=float, default=300, help="seconds that the integer program may take")
    options.add_argument("--plain", action="store_true", help="do not fix steps in which an operator cannot run")
    options.add_argument("--ballast", default="ballast", help="the command line")
    given = options.parse_args()
    if (given.graph is None) == (given.model is None):
        options.error("one of --graph and --model is required")
    asked = [given.graph] if given.graph else ["--model", given.model, "--length", str(given.length)]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "graph.json"
        ran = subprocess.run([given.ballast, "order", *asked, "--write-graph", file, "--json"], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(ran.stderr)
        ours = json.loads(ran.stdout)
        problem = Problem(json.loads(file.read_text()))
    seconds = ours["seconds"]["order"]
    proof = lambda proven, bound: "no order takes less" if proven else f"no order takes less than {bound:,}"
    print(f"{len(problem.operators)} operators, {len(problem.before)} precedences, {len(problem.pieces)} pieces of memory")
    print(f"ballast order    {ours['peak']:,} bytes; {proof(ours['optimal'], ours['lower_bound'])}", flush=True)
    peak, bound, proven, took = solve(problem, given.limit, given.plain)
    result = "none found" if peak is None else f"{peak:,} bytes"
    print(f"integer program  {result}; {proof(proven, bound)}")
    print(f"The integer program takes {'' if proven else 'more than '}{took / seconds:,.0f} times as long ({took:.1f} s).")
    slack = UNIT / 1000  # of the solver's arithmetic
    if proven and ours["optimal"] and abs(peak - ours["peak"]) > slack:
        sys.exit("the two optima differ")
    if bound > ours["peak"] + slack or (peak is not None and peak < ours["lower_bound"] - slack):
        sys.exit("a bound is above the other's peak")


if __name__ == "__main__":
    main()
