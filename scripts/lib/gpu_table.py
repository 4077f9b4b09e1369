# SPDX-License-Identifier: Apache-2.0
"""Prints the results of scripts/gpu in a folder as markdown, or puts them between the marks of a document: FOLDER [--into FILE]."""

import json
import os
import pathlib
import re
import sys

BESIDE = {  # other ways to the same result, timed by the same program
    "fold": ("cub_histogram",),
    "expand": ("thrust_sort",),
    "pack": ("thrust_sort", "host_pack/there_and_back"),
    "pack_images": ("thrust_sort", "host_images/there_and_back"),
    "pack_levels": ("thrust_sort", "host_levels/there_and_back"),
    "packs/flops": ("packs_by_scan/flops", "packs_by_key/flops", "packs_on_host/flops"),
    "packs_by_plan/flops": ("packs_by_members/flops",),
    "entries_by_plan": ("entries_by_members",),
    "context_entries": ("entries_one_by_one",),
    "gather_rows": ("rows_copied", "gather_by_copies", "gather_by_index"),
    "gather_column": ("column_copied", "column_by_index"),
    "scatter_column": ("column_copied", "column_back_by_index"),
    "gather_hidden": ("hidden_copied",),
    "scatter_hidden": ("hidden_copied",),
    "unpad_rows": ("mask_copied", "unpad_by_select"),
    "sequence_lengths": ("column_copied",),
    "segment_figures": ("figures_copied", "figures_by_cub"),
    "segment_loads": ("segment_loads_by_global_atomics",),
    "packs/tiles": ("packs_by_scan/tiles", "packs_on_host/tiles"),
    "weighted_loss": ("weighted_loss_thrust", "weighted_loss_host"),
    "deal": ("batches_sorted_by_cub", "deal_by_one_lane", "deal_on_host"),
    "score": ("score_by_global_atomics",),
    "bulk": ("bulk_on_host",),
    "next_fit": ("next_fit_doubling", "next_fit_host"),
    "windowed": ("windows_sorted_by_cub", "windowed_host"),
}
BEGIN, END = "<!-- scripts/gpu table: begin -->", "<!-- scripts/gpu table: end -->"


def read(folder):
    """The device, and the lines of results.jsonl; of rows measured twice, the last."""
    machine = folder / "machine.txt"
    rows, steps = {}, {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # cut off when its program was stopped
            continue
        if "step" in row:
            steps[row["step"]] = row["result"]
        else:
            rows[row["program"].removeprefix("bench_"), row["name"]] = row
    return machine.read_text().splitlines() if machine.exists() else [], rows, steps


def kind(name):
    """The name of a case without its arguments."""
    return re.sub(r"(/\d+)*$", "", name)


def beside(rows, program, name):
    """How many times as fast as each other way with the same arguments, or else the arguments that begin most alike."""
    said = []
    for other in BESIDE.get(kind(name), ()):
        wanted = other + name.removeprefix(kind(name)) + "/"
        alike = lambda case: len(os.path.commonprefix([wanted, case + "/"]).rpartition("/")[0])
        cases = [case for p, case in rows if p == program and kind(case) == other and "ms" in rows[p, case]]
        if cases:
            row, found = rows[program, name], rows[program, max(cases, key=alike)]
            said.append(f"{other} {row['items'] / row['ms'] * found['ms'] / found['items']:.3g}")
    return ", ".join(said)


def table(machine, rows, steps):
    """Markdown: the machine, steps that are not right, and one table for each program."""
    lines = [f"- {line}" for line in machine]
    right = sum(result == "ok" for result in steps.values())
    lines += ["", f"Steps that ended well: {right} of {len(steps)}."]
    lines += [f"- {step}: {result}" for step, result in steps.items() if result != "ok" and not result.startswith("skipped")]
    rate = lambda row: row["floor_bytes"] / row["ms"] / 1e9  # TB/s
    copies = [row for (program, name), row in rows.items() if name.startswith("copy/") and "ms" in row]
    copy = max(map(rate, copies), default=None)
    for program in dict.fromkeys(program for program, _ in rows):
        columns = ["case", "ms", "10^9 items/s", "TB/s of the floor", "share of a copy", "times as fast as"]
        lines += ["", f"**{program}**", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for (_, name), row in ((key, row) for key, row in rows.items() if key[0] == program):
            if "ms" not in row:
                lines.append(f"| {name} | {row['error']} | | | | |")
                continue
            share = f"{rate(row) / copy:.0%}".replace("%", " %") if copy else ""
            figures = f"{row['ms']:.4g} | {row['items'] / row['ms'] / 1e6:.3g} | {rate(row):.3g}"
            lines.append(f"| {name} | {figures} | {share} | {beside(rows, program, name)} |")
    return "\n".join(lines) + "\n"


def main(folder, into=None):
    text = table(*read(pathlib.Path(folder)))
    if into is None:
        return print(text, end="")
    path = pathlib.Path(into)
    document = path.read_text()
    if BEGIN not in document or END not in document:
        sys.exit(f"{into} has no lines '{BEGIN}' and '{END}' for the table to stand between")
    marked = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    path.write_text(marked.sub(lambda _: f"{BEGIN}\n\n{text}\n{END}", document))


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--into"]
    if not arguments or len(arguments) > 2:
        sys.exit(__doc__)
    if not (pathlib.Path(arguments[0]) / "results.jsonl").exists():
        sys.exit(f"there is no {arguments[0]}/results.jsonl: scripts/gpu writes it")
    main(*arguments)
