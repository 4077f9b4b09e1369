#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of docs/ from data.json: draw.py FOLDER. Called by scripts/figures."""
import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.patches import PathPatch
from matplotlib.path import Path

here = pathlib.Path(__file__).parent
data = json.loads((here / "data.json").read_text())

# Okabe-Ito, by meaning: BLUE is ballast, ORANGE what is usual, GREY what is naive, WAIT what is lost. Each has a
# twin for dark pages; BLACK is for text on SKY in both.
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
PAPER, INK, SOFT, RULE, GREY, WAIT, BLACK = "#fefefe", "#1b2228", "#56616b", "#dfe3e7", "#88929b", "#d3d8dc", "#0b0f13"
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"
DARK = {BLUE: "#3d9fdc", ORANGE: "#f0813a", GREEN: "#19b78c", PURPLE: "#d68fb5", SKY: "#8fcdf2",
        PAPER: "#15191d", INK: "#e6eaed", SOFT: "#9fa9b2", RULE: "#313940", GREY: "#7d8790", WAIT: "#454d55"}

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "ballast", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 10,
    "figure.facecolor": PAPER, "axes.facecolor": "none", "axes.edgecolor": SOFT, "axes.labelcolor": SOFT, "axes.titlecolor": INK,
    "axes.titlelocation": "left", "axes.titlesize": 10, "axes.titleweight": "bold", "axes.labelsize": 10, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y", "grid.color": RULE, "text.color": INK,
    "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelsize": 9.5, "ytick.labelsize": 9.5, "ytick.major.size": 0, "legend.frameon": False,
    "lines.linewidth": 2, "lines.solid_capstyle": "butt", "figure.constrained_layout.use": True})

WIDTH = 6.0


def figure(height, rows=1, columns=1, **more):
    return plt.subplots(rows, columns, figsize=(WIDTH, height), **more)


def boxes(axes, rectangles, colour, **style):
    """Filled rectangles (x, y, width, height) as one path, which keeps files small."""
    corners, codes = [], []
    for x, y, w, h in rectangles:
        corners += [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    if corners:
        axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, **({"linewidth": 0} | style)))
        axes.autoscale_view()


def note(axes, x, y, text, colour=INK, **more):
    axes.annotate(text, (x, y), color=colour, **({"annotation_clip": False, "fontsize": 10} | more))


def bare(axes, y=True):
    """No grid and no spines; without ticks of y unless they are asked for."""
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    if not y:
        axes.set_yticks([])


def percent(millionths, digits=1):
    return f"{millionths / 1e4:.{digits}f} %"


def save(name, folder):
    target = folder / f"{name}.svg"
    plt.savefig(target, metadata={key: None for key in ("Creator", "Date", "Format", "Type")})
    plt.close()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", target.read_text(), flags=re.S)

    def shorter(attribute):
        numbers = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), attribute[0])
        return re.sub(r"M (\S+) (\S+) \nL (\S+) \2 \nL \3 (\S+) \nL \1 \4 \nz\s*", r"M\1 \2H\3V\4H\1z", numbers)

    text = re.sub(r'(?: d| x| y|transform)="[^"]*"', shorter, text)
    text = re.sub(r"font: (\d+ )?([\d.]+px) [^;\"]*", lambda font: (f"font-weight: {font[1]}; " if font[1] else "") + f"font-size: {font[2]}", text)
    alike = r' style="([^"]*)"/>(?:\n *<use [^>]* style="\2"/>)*\n *</g>'  # marks that share a style
    text = re.sub(r'(<g[^>]*)>(?=\n *<use [^>]*?' + alike + ")", r'\1 style="\2">', text)
    text = re.sub(r'(<g [^>]*style="([^"]*)">)((?:\n *<use [^>]* style="\2"/>)+)', lambda g: g[1] + g[3].replace(f' style="{g[2]}"', ""), text)
    dark = "".join(f'[style*="{key}: {light}"]{{{key}:{night}!important}}' for light, night in DARK.items() for key in ("fill", "stroke")
                   if f"{key}: {light}" in text)
    text = text.replace("</style>", f"text{{font-family:{FONT}}}@media screen and (prefers-color-scheme:dark){{{dark}}}</style>", 1)
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt" ', "", text, count=1)
    target.write_text(re.sub(r"\n +", "\n", text))


def ranks_in_time(axes, name, colour, title):
    steps = data[f"batching.{name}.first_ms"]
    start = 0
    for s, step in enumerate(steps):
        end = max(step)
        boxes(axes, [(start / 1000, r, ms / 1000, 1) for r, ms in enumerate(step)], colour, alpha=1 if s % 2 == 0 else 0.75)
        boxes(axes, [((start + ms) / 1000, r, (end - ms) / 1000, 1) for r, ms in enumerate(step)], WAIT)
        start += end
        axes.plot([start / 1000] * 2, [-1, len(step)], color=INK, linewidth=1)
    waiting, seconds, _ = data[f"batching.{name}.all"]
    axes.set_title(f"{title}: GPUs wait {percent(waiting)}, an epoch takes {seconds / 60:.1f} min")
    axes.set_ylim(len(steps[0]) + 0.3, -1)
    bare(axes, y=False)


def first_look():
    _, axes = figure(4.2, 3, 1, sharex=True)
    ranks_in_time(axes[0], "naive", GREY, "next fit, in order")
    ranks_in_time(axes[1], "usual", ORANGE, "best fit, at random")
    ranks_in_time(axes[2], "plan", BLUE, "ballast")
    axes[2].set_xlabel("modelled seconds of four steps; a row for each of 32 GPUs, grey where it waits")
    axes[2].tick_params(length=3)


def packing():
    capacity = 32768
    _, axes = figure(2.9, 1, 3, sharey=True)
    for side, name, title, colour in zip(axes, ("next_fit", "first_fit", "pack"), ("next fit", "first fit", "ballast"), (INK, INK, BLUE)):
        packs, (count, bound, tokens) = data[f"packing.{name}"], data[f"packing.{name}.count"]
        shades = ([], [], [])
        for p, pack in enumerate(packs):
            at = 0
            for i, length in enumerate(pack):
                shades[min(i, 2)].append((p, at / 1024, 0.88, length / 1024))
                at += length
        boxes(side, [(p, 0, 0.88, capacity / 1024) for p in range(len(packs))], WAIT)
        for rectangles, shade in zip(shades, (BLUE, SKY, GREEN)):
            boxes(side, rectangles, shade, edgecolor=PAPER, linewidth=0.4)
        side.set_title(f"{title}: {count:,} packs", color=colour)
        side.set_xlabel(f"{100 * (1 - tokens / count / capacity):.1f} % empty" + (", optimal" if count == bound else ""))
        bare(side)
        side.set_xticks([])
    axes[0].set_yticks([0, 8, 16, 24, 32])
    axes[0].set_ylabel("tokens of a pack, thousand")


def near_optimal():
    rows = data["near_optimal.sets"]
    _, axes = figure(2.9)
    for y, (low, high, best_fit, found, bound) in enumerate(rows):
        far, near = (100 * (packs / bound - 1) for packs in (best_fit, found))
        axes.plot([near, far], [y, y], color=RULE, linewidth=3)
        axes.plot(far, y, "o", color=ORANGE, markersize=8)
        axes.plot(near, y, "o", color=BLUE, markersize=8)
    note(axes, 100 * (rows[0][2] / rows[0][4] - 1), 0, "best fit", ORANGE, xytext=(0, 9), textcoords="offset points", ha="center", weight="bold")
    note(axes, 0, 0, "searched", BLUE, xytext=(0, 9), textcoords="offset points", ha="center", weight="bold")
    axes.set_yticks(range(len(rows)), [f"{r[0] / 10:g} to {r[1] / 10:g} %" for r in rows])
    axes.set_ylim(len(rows) - 0.5, -0.8)
    axes.set_xlim(-0.6, 7)
    axes.grid(axis="x")
    axes.grid(axis="y", visible=False)
    axes.set_title("lengths, share of a pack", weight="normal", color=SOFT)
    axes.set_xlabel("packs above the proven lower bound, %")


def omnibal():
    _, axes = figure(2.7)
    rows = [(measure, name, colour) for measure in (0, 1) for name, colour in (("published", ORANGE), ("plan", BLUE))]
    for y, (measure, name, colour) in enumerate(rows):
        loads = [pair[measure] / 1000 for pair in data[f"omnibal.{name}"]]
        spread = [y + 0.5 * (i * 0.618 % 1 - 0.5) for i in range(len(loads))]
        axes.plot(loads, spread, "o", color=colour, markersize=4, alpha=0.5, markeredgewidth=0)
    axes.set_yticks(range(4), ["tiles, published", "tiles, ballast", "tokens, published", "tokens, ballast"])
    axes.set_ylim(3.6, -0.6)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x")
    axes.set_xlabel("load of a rank, mean rank of its step = 1")


def layout():
    cu, ranks, lengths = data["layout.cu_seqlens"], data["layout.rank_of"], data["layout.lengths"]
    _, (row, mask) = figure(4.9, 2, 1, height_ratios=[1, 3.2])
    colours = (BLUE, ORANGE)
    for y, colour_of in ((2, lambda t: None), (0.2, lambda t: ranks[t])):
        for shade in (None, 0, 1):
            boxes(row, [(t, y, 0.9, 0.8) for t in range(cu[-1]) if colour_of(t) == shade], WAIT if shade is None else colours[shade])
    for s, (begin, tokens) in enumerate(zip(cu, lengths)):
        boxes(row, [(begin + t, 2, 0.9, 0.8) for t in range(tokens)], GREEN if s % 2 == 0 else PURPLE)
        note(row, begin + tokens / 2, 2.95, f"sample {s}", ha="center", fontsize=9.5)
    for at in cu:
        note(row, at, 1.3, str(at), SOFT, ha="center", fontsize=9.5)
        row.plot([at, at], [1.75, 1.95], color=SOFT, linewidth=1)
    note(row, -1, 1.3, "cu_seqlens", SOFT, ha="right", fontsize=9.5, xytext=(-12, 0), textcoords="offset points")
    note(row, -1, 2.2, "row", SOFT, ha="right", fontsize=9.5, xytext=(-12, 0), textcoords="offset points")
    note(row, -1, 0.35, "ranks", SOFT, ha="right", fontsize=9.5, xytext=(-12, 0), textcoords="offset points")
    row.set_xlim(-12, cu[-1] + 1)
    row.set_ylim(0, 3.6)
    bare(row, y=False)
    row.set_xticks([])
    pairs = [0, 0]
    for rank, colour in enumerate(colours):
        cells = []
        for begin, end in zip(cu, cu[1:]):
            cells += [(begin, query, query - begin + 1, 1) for query in range(begin, end) if ranks[query] == rank]
        pairs[rank] = sum(cell[2] for cell in cells)
        boxes(mask, cells, colour)
    for begin, end in zip(cu, cu[1:]):
        mask.plot([begin, end, end, begin, begin], [begin, begin, end, end, begin], color=SOFT, linewidth=0.8)
    mask.set_aspect("equal")
    mask.set_xlim(0, cu[-1])
    mask.set_ylim(cu[-1], 0)
    mask.set_xticks(cu)
    mask.set_yticks(cu)
    mask.grid(False)
    mask.set_xlabel("key")
    mask.set_ylabel("query")
    for rank, colour in enumerate(colours):
        note(mask, cu[-1] + 3, 20 + 8 * rank, f"rank {rank}: {pairs[rank]} pairs", colour, weight="bold")


def balance():
    methods = ("in turn", "snake", "rate matching", "longest first (LPT)", "Karmarkar-Karp", "balance")
    _, axes = figure(2.9)
    for y, (name, over) in enumerate(zip(methods, data["balance.over"])):
        shown = sorted(max(value, 1) / 1e4 for value in over)
        colour = BLUE if name == "balance" else GREY
        axes.plot([shown[2], shown[-3]], [y, y], color=colour, linewidth=5, alpha=0.35)
        axes.plot(shown[len(shown) // 2], y, "o", color=colour, markersize=8)
        note(axes, shown[len(shown) // 2], y, f"{shown[len(shown) // 2]:.2g} %", colour, xytext=(0, 7), textcoords="offset points", ha="center",
             fontsize=9.5)
    axes.set_xscale("log")
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(len(methods) - 0.5, -0.8)
    axes.grid(axis="x")
    axes.grid(axis="y", visible=False)
    axes.set_xticks((1e-4, 1e-2, 1, 100), ("0", "0.01", "1", "100"))
    axes.minorticks_off()
    axes.set_xlabel("largest load above the lower bound, %")


def loss():
    labels, naive, right = zip(*sorted(data["loss.weights"]))
    _, axes = figure(3)
    axes.plot(labels, [value / 1e6 for value in naive], "o", color=ORANGE, markersize=6, alpha=0.8, markeredgewidth=0)
    axes.plot(labels, [value / 1e6 for value in right], "o", color=BLUE, markersize=6, alpha=0.8, markeredgewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = (0.125, 0.25, 0.5, 1, 2, 4, 8)
    axes.set_yticks(ticks, [f"{t:g}x" for t in ticks])
    axes.set_xticks((100, 300, 1000, 3000), ("100", "300", "1,000", "3,000"))
    axes.minorticks_off()
    note(axes, labels[0], naive[0] / 1e6, "mean of the micro-batches' means", ORANGE, xytext=(12, -2), textcoords="offset points", weight="bold")
    note(axes, labels[0], 1, "ballast", BLUE, xytext=(0, -14), textcoords="offset points", weight="bold")
    axes.set_title("weight of a token in the gradient, right weight = 1x", weight="normal", color=SOFT)
    axes.set_xlabel("tokens with a label in the micro-batch")


def batching():
    _, axes = figure(3)
    for name, colour, title in (("usual", ORANGE, "packs dealt at random"), ("plan", BLUE, "ballast")):
        ratio = [value / 1000 for value in data[f"batching.{name}"]]
        axes.plot(range(len(ratio)), ratio, color=colour, linewidth=1.2)
        waiting = data[f"batching.{name}.all"][0]
        note(axes, 278, sum(ratio) / len(ratio) - 0.01, f"{title}\nGPUs wait {percent(waiting)}", colour, weight="bold", va="bottom")
    axes.set_xlim(0, 430)
    axes.set_xticks((0, 100, 200))
    axes.set_ylim(0.98, 1.46)
    axes.set_yticks((1, 1.1, 1.2, 1.3, 1.4), ("1", "1.1", "1.2", "1.3", "1.4"))
    axes.spines["bottom"].set_bounds(0, 275)
    axes.set_title("slowest rank over the mean rank, modelled time", weight="normal", color=SOFT)
    axes.set_xlabel("step", x=0.32)


def randomness():
    _, sides = figure(3.2, 1, 3, sharey=True)
    for axes, name, title in zip(sides, ("chat-sft", "reasoning-rollouts", "long-context-sft"), ("chat", "rollouts", "long context")):
        for ranks, colour in ((8, BLUE), (32, ORANGE)):
            points = data[f"randomness.{name}.{ranks}"]
            idle, effect = [at[0] / 1e4 for at in points], [max(at[1], 1) / 1000 for at in points]
            axes.plot(idle, effect, color=colour, linewidth=1.2, marker="o", markersize=4)
            note(axes, idle[0], effect[0], f"{ranks} ranks", colour, weight="bold", xytext=(6, 2), textcoords="offset points")
        axes.axhline(1, color=INK, linewidth=0.8)
        axes.set_yscale("log")
        axes.set_yticks((0.5, 1, 2, 4, 8), ("0.5", "1", "2", "4", "8"))
        axes.minorticks_off()
        axes.set_title(title, weight="normal", color=SOFT)
    sides[0].set_ylabel("D8, random draws have 1")
    sides[1].set_xlabel("% of the time in which ranks wait")


def frontier():
    _, sides = figure(4.2, 2, 3, sharey=True)
    for axes, (name, (usual, *points)) in zip(sides.flat, json.loads((here / "traces.json").read_text()).items()):
        trace, capacity, ranks = name.split(", ")
        effects = [max(effect, 1) / 1000 for _, effect in points]
        axes.plot([idle / 1e4 for idle, _ in points], effects, color=BLUE, linewidth=1.2, marker="o", markersize=4)
        axes.plot(usual[0] / 1e4, usual[1] / 1000, color=ORANGE, marker="o", markersize=4)
        axes.axhline(1, color=INK, linewidth=0.8)
        axes.set_yscale("log")
        axes.set_yticks((1, 4, 16), ("1", "4", "16"))
        axes.minorticks_off()
        axes.set_xlim(left=-0.04 * usual[0] / 1e4)
        axes.set_title(f"{trace}, {int(capacity) // 1024}K, {ranks} ranks", weight="normal", color=SOFT, fontsize=9)
        if trace == "azure":
            note(axes, points[0][0] / 1e4, effects[0], "plan_steps", BLUE, weight="bold", xytext=(6, 2), textcoords="offset points")
            note(axes, usual[0] / 1e4, usual[1] / 1000, "at random", ORANGE, weight="bold", ha="right", xytext=(4, 5), textcoords="offset points")
    sides[0][0].set_ylabel("D8, random draws have 1")
    sides[1][1].set_xlabel("% of the time in which ranks wait")


def stacked(axes, rows, colours):
    """Horizontal bars of parts."""
    longest = max(sum(parts) for parts in rows)
    for y, parts in enumerate(rows):
        at = 0
        for part, colour in zip(parts, colours):
            boxes(axes, [(at, y - 0.36, part, 0.72)], colour)
            at += part
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xlim(0, longest * 1.02)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x")


def sharding():
    _, axes = figure(4.3, 2, 1, sharex=True, gridspec_kw={"height_ratios": (1, 3)})
    for side, name, title, wide in ((axes[0], "static", "all ranks share every sample", ORANGE), (axes[1], "plan", "ballast", BLUE)):
        passes = data[f"sharding.{name}"]
        value, bound = (number / 1000 for number in data[f"sharding.{name}.all"])
        boxes(side, [(0, 0.05, value, 15.9)], WAIT)
        for shared, colour in ((False, SKY), (True, wide)):
            boxes(side, [(begin / 1000, rank + 0.05, (end - begin) / 1000, ranks - 0.1) for rank, ranks, begin, end, _ in passes
                         if (ranks > 1) == shared], colour, edgecolor=PAPER, linewidth=0.5)
        for rank, ranks, begin, end, longest in passes:
            note(side, (begin + end) / 2000, rank + ranks / 2 + 0.05, f"{longest / 1000:g}K" + (f" on {ranks}" if end - begin > 5000 else ""),
                 PAPER if ranks > 1 else BLACK, ha="center", va="center", fontsize=9 if ranks > 1 else 6.5)
        side.set_title(f"{title}: {value:.1f} s")
        side.set_yticks((0.5, 15.5), ("rank 0", "rank 15"))
        bare(side)
        side.set_ylim(16, 0)
    side.plot((bound, bound), (0, 16), color=INK, linewidth=1)
    note(side, bound, -0.3, f"lower bound {bound:.1f} s", INK, va="bottom")
    side.tick_params(axis="x", length=3)
    side.set_xlabel("modelled seconds; a box is a pass, with the tokens of its longest sample")


def execution():
    pieces, ring = data["execution.pieces"], data["execution.ring"]
    ranks = 1 + max(rank for rank, *_ in pieces)
    owners = (BLUE, ORANGE, GREEN, PURPLE)
    _, axes = figure(2.5, 1, 2, gridspec_kw={"width_ratios": (1.45, 1)})
    left, right = axes
    room = [0] * (1 + max(p for _, p, *_ in pieces))  # tokens of the longest shard of each pass
    for rank in range(ranks):
        for p in range(len(room)):
            room[p] = max(room[p], sum(end - begin for r, q, _, begin, end, _ in pieces if (r, q) == (rank, p)))
    starts = [sum(room[:p]) + p for p in range(len(room))]
    used = {}
    for rank, p, sample, begin, end, shared in pieces:
        at = starts[p] + used.get((rank, p), 0)
        used[rank, p] = used.get((rank, p), 0) + end - begin
        colour = owners[rank] if shared == ranks else GREY if shared > 1 else SKY
        boxes(left, [(at, rank + 0.08, end - begin, 0.84)], colour, edgecolor=PAPER, linewidth=0.5)
        if end - begin > 1:
            note(left, at + (end - begin) / 2, rank + 0.5, f"{begin}–{end - 1}" if shared == ranks else f"{sample}", BLACK if shared == 1 else PAPER,
                 ha="center", va="center", fontsize=6 if shared == ranks else 8)
    left.set_title(f"Shards of {len({piece[2] for piece in pieces})} samples")
    left.set_xticks([start + wide / 2 for start, wide in zip(starts, room)], [f"pass {p}" for p in range(len(room))])
    left.set_yticks([rank + 0.5 for rank in range(ranks)], [f"rank {rank}" for rank in range(ranks)])
    for turn, rank, owner, pairs in ring:
        boxes(right, [(turn + 0.05, rank + 0.08, 0.9, 0.84)], owners[owner], edgecolor=PAPER, linewidth=0.5)
        note(right, turn + 0.5, rank + 0.5, f"{pairs}", PAPER, ha="center", va="center")
    right.set_title("Keys in pass 0")
    right.set_xticks([turn + 0.5 for turn in range(ranks)], [f"turn {turn}" for turn in range(ranks)])
    right.set_yticks(())
    for side in axes:
        bare(side)
        side.set_ylim(ranks, 0)


def plan():
    rows = data["plan.shares"]
    _, axes = figure(2.7)
    colours = (BLUE, SKY, ORANGE, WAIT, WAIT)
    parts = [[row[2] / 60 * share / 1e6 for share in row[3:]] for row in rows]
    stacked(axes, parts, colours)
    for y, row in enumerate(rows):
        at = 0
        for part, share in zip(parts[y], row[3:]):
            if share > 80000:
                note(axes, at + part / 2, y, f"{share / 1e4:.0f} %", BLACK if part is parts[y][1] else PAPER, ha="center", va="center", fontsize=9.5)
            at += part
    for x, colour, name in zip((0, 0.38, 0.6, 0.9), (BLUE, SKY, ORANGE, SOFT), ("forward, backward", "recomputed", "pipeline bubble", "other")):
        note(axes, x, 1.02, name, colour, weight="bold", xycoords="axes fraction")
    axes.set_yticks(range(len(rows)), [f"{row[0]} ranks, {row[1]} stage" + ("s" if row[1] > 1 else "") for row in rows])
    axes.set_xlabel("modelled minutes of an epoch, split by where device-time goes")


def levels():
    _, axes = figure(2.6)
    gpus = 32
    by_level = [row[4] / 1000 / gpus for row in data["levels.levels"]]
    colours = (GREEN, SKY, BLUE)
    rows = []
    for name in ("naive", "one_level", "plan"):
        seconds, waiting, _ = data[f"levels.{name}"]
        busy = by_level if name == "plan" else [0, 0, seconds / 1000 * (1 - waiting / 1e6)]
        rows.append(busy + [seconds / 1000 - sum(busy)])
    stacked(axes, rows, colours + (WAIT,))
    for y, parts in enumerate(rows):
        note(axes, sum(parts), y, f" {sum(parts):.0f} s", va="center", weight="bold")
    axes.set_xlim(0, 450)
    axes.set_yticks(range(3), ["one pack length,\nrandom steps", "one pack length,\nbalanced steps", "three levels,\nbalanced steps"])
    at = 0
    for part, (capacity, sp, _, _, _), colour in zip(by_level, data["levels.levels"], colours):
        inside = part > 30
        note(axes, at + part / 2, 2 if inside else 1.6, f"{capacity // 1024}K on {sp} GPU" + "s" * (sp > 1), PAPER if inside else INK, ha="center",
             va="center" if inside else "bottom", fontsize=9.5)
        at += part
    note(axes, 120, 0, "128K on 8 GPUs", PAPER, ha="center", va="center", fontsize=9.5)
    note(axes, 120, 1, "128K on 8 GPUs", PAPER, ha="center", va="center", fontsize=9.5)
    note(axes, 333, 0, "waiting", INK, ha="center", va="center", fontsize=9.5)
    axes.set_xlabel("modelled seconds of an epoch on 32 GPUs, by tokens of a pack")


def curriculum():
    _, axes = figure(3.2, 2, 1, sharex=True)
    for side, name, title in ((axes[0], "random", "random order"), (axes[1], "interleaved", "warm-up, then interleaved")):
        source = data[f"curriculum.{name}"]
        for s, colour in enumerate((GREEN, ORANGE, BLUE)):
            boxes(side, [(i, 2 - s + 0.1, 0.8, 0.8) for i, value in enumerate(source) if value == s], colour)
        side.set_title(title)
        side.set_yticks((0.5, 1.5, 2.5), ("128K", "16K", "4K"))
        bare(side)
        side.set_ylim(0, 3)
        side.set_xlim(0, len(source))
    axes[1].tick_params(axis="x", length=3)
    axes[1].set_xlabel("step; a mark for each step of packs of 4K, 16K and 128K tokens")


def cost():
    _, axes = figure(3.2)
    names = ("qwen2.5-0.5b", "deepseek-v3", "llama-3.1-8b", "qwen2.5-72b")
    for name, colour in zip(names, (GREY, PURPLE, BLUE, ORANGE)):
        lengths = [2 ** (half / 2) for half in range(20, 41)]
        ratio = [value / 1000 for value in data[f"cost.{name}"]]
        axes.plot(lengths, ratio, color=colour)
        note(axes, lengths[-1] * 1.08, ratio[-1], name, colour, va={"qwen2.5-0.5b": "bottom", "deepseek-v3": "top"}.get(name, "center"), weight="bold")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ticks = [2 ** power for power in range(10, 21, 2)]
    axes.set_xticks(ticks, ["1K", "4K", "16K", "64K", "256K", "1M"])
    axes.set_yticks((1, 2, 4, 8, 16, 32), [f"{y}x" for y in (1, 2, 4, 8, 16, 32)])
    axes.minorticks_off()
    axes.set_xlim(1024, 2 ** 24)
    axes.spines["bottom"].set_bounds(1024, 2 ** 20)
    axes.plot([1024, 2 ** 20], [2, 2], color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    note(axes, 2 ** 20, 1.45, "half is attention", SOFT, ha="right")
    axes.set_title("FLOPs of a token over those without attention", weight="normal", color=SOFT)
    axes.set_xlabel("length of its sample, tokens", x=0.36)


def bars_by_stage(axes, left, right, colours, labels):
    for offset, values, colour in ((-0.4, left, colours[0]), (0.02, right, colours[1])):
        boxes(axes, [(s + offset, 0, 0.38, value) for s, value in enumerate(values)], colour)
    axes.set_xticks(range(len(left)), labels)
    axes.set_xlim(-0.6, len(left) - 0.4)


def partition():
    equal, plan_, bound = (data[f"partition.{name}"] for name in ("equal", "plan", "bound"))
    _, axes = figure(3)
    bars_by_stage(axes, [v / 1000 for v in equal], [v / 1000 for v in plan_], (ORANGE, BLUE), [str(s) for s in range(8)])
    axes.plot([-0.6, 7.6], [bound[0] / 1000] * 2, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    note(axes, -0.55, bound[0] / 1000 + 8, f"no cut has a faster slowest stage: {bound[0] / 1000:.0f} ms", fontsize=9.5)
    note(axes, 4, max(equal) / 1000 + 12, f"as many layers each: {max(equal) / 1000:.0f} ms", ORANGE, weight="bold")
    note(axes, -0.55, bound[0] / 1000 + 40, "ballast", BLUE, weight="bold")
    axes.set_ylim(0, 450)
    axes.set_title("modelled milliseconds of a stage", weight="normal", color=SOFT)
    axes.set_xlabel("stage")


def recompute():
    rows = data["recompute.budgets"]
    _, all_time = data["recompute.all"]
    _, axes = figure(3)
    budget, layers, exact, bound = zip(*rows)
    axes.plot([b / 10 for b in budget], [100 * t / all_time for t in layers], color=ORANGE)
    axes.plot([b / 10 for b in budget], [100 * t / all_time for t in exact], color=BLUE)
    note(axes, 52, 53, "whole layers", ORANGE, weight="bold")
    note(axes, 3, 18, "tensor by tensor, optimal", BLUE, weight="bold")
    axes.set_xlabel("memory for activations, % of keeping everything")
    axes.set_title("time to compute again, % of the forward pass", weight="normal", color=SOFT)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 104)


def staging():
    sequence, joint = (data[f"staging.{name}"] for name in ("in_sequence", "joint"))
    _, (times, bytes_) = figure(4.4, 2, 1, sharex=True, height_ratios=[3, 2])
    bars_by_stage(times, [(s[0] + s[1]) / 1000 for s in sequence], [(s[0] + s[1]) / 1000 for s in joint], (ORANGE, BLUE), [])
    for offset, plan_ in ((-0.4, sequence), (0.02, joint)):
        boxes(times, [(s + offset, v[0] / 1000, 0.38, v[1] / 1000) for s, v in enumerate(plan_)], PAPER, alpha=0.55)
    for plan_, colour, at, what in ((sequence, ORANGE, (0.45, 345), "cut for time, then recomputation"), (joint, BLUE, (3.5, 300), "both at once")):
        worst = max((s[0] + s[1]) / 1000 for s in plan_)
        note(times, *at, f"{what}: {worst:.0f} ms", colour, weight="bold")
    times.set_ylim(0, 395)
    times.set_title("modelled milliseconds of a stage; faded: recomputed", weight="normal", color=SOFT)
    bars_by_stage(bytes_, [s[2] / 1024 for s in sequence], [s[2] / 1024 for s in joint], (ORANGE, BLUE), [str(s) for s in range(8)])
    bytes_.plot([-0.6, 7.6], [76, 76], color=INK, linewidth=1, linestyle=(0, (4, 3)))
    bytes_.set_ylim(0, 90)
    note(bytes_, 7.6, 79, "limit: 76", fontsize=9.5, ha="right")
    bytes_.set_title("memory of a stage, GiB", weight="normal", color=SOFT)
    bytes_.set_xlabel("stage")


def pipeline():
    _, axes = figure(3.6, 2, 1, sharex=True)
    for side, name, title in ((axes[0], "as_drawn", "as drawn"), (axes[1], "ordered", "short ones at both ends")):
        tasks = data[f"pipeline.{name}"]
        makespan, _, bubble = data[f"pipeline.{name}.all"]
        boxes(side, [(0, stage + 0.1, makespan, 0.8) for stage in range(4)], WAIT)
        for backward, colour in ((0, SKY), (1, BLUE)):
            boxes(side, [(t[3], t[0] + 0.1, t[4] - t[3], 0.8) for t in tasks if t[1] == backward], colour, edgecolor=PAPER, linewidth=0.5)
        for stage, backward, number, begin, end in tasks:
            if end - begin > 110:
                note(side, (begin + end) / 2, stage + 0.53, str(number), PAPER if backward else BLACK, ha="center", va="center", fontsize=8.5)
        side.set_title(f"{title}: stages wait {percent(bubble, 0)} of the time")
        side.set_yticks([s + 0.5 for s in range(4)], [f"stage {s}" for s in range(4)])
        bare(side)
        side.set_ylim(4, 0)
    axes[1].tick_params(axis="x", length=3)
    axes[1].set_xlabel("time, 1 = forward pass of 256 tokens through a stage")
    axes[0].set_title("pale: forward", loc="right", weight="normal", fontsize=9.5, color=SOFT)
    axes[1].set_title("dark: backward", loc="right", weight="normal", fontsize=9.5, color=SOFT)


def memory_model():
    _, axes = figure(3.7)
    ends = [10, 90]
    axes.fill_between(ends, [0.85 * e for e in ends], [1.15 * e for e in ends], color=WAIT, alpha=0.6, linewidth=0)
    axes.plot(ends, ends, color=SOFT, linewidth=1)
    for name, title, colour in (("torchtitan", "torchtitan", BLUE), ("megatron_swift", "ms-swift, Megatron", ORANGE),
                                ("deepspeed_swift", "ms-swift, DeepSpeed", GREEN), ("swift", "SWIFT, LoRA on one GPU", PURPLE),
                                ("chunkflow", "ChunkFlow", GREY)):
        rows = [(measured / 1024, computed / 1024, fitted) for measured, computed, fitted in data[f"memory_model.{name}"]]
        for fitted in (0, 1):
            some = [row for row in rows if row[2] == fitted]
            axes.plot([x for x, _, _ in some], [y for _, y, _ in some], "o", markersize=6, markeredgecolor=colour,
                      markerfacecolor=PAPER if fitted else colour)
        axes.plot([], [], "o", color=colour, label=title)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_title("computed GiB")
    axes.set_xlabel("measured GiB; filled: predicted, hollow: a constant was fitted to the row; grey: 15 %")
    axes.legend(loc="upper left", fontsize=9.5, handletextpad=0.2)


def memory():
    _, axes = figure(5.6, 2, 1)
    live, reserved = axes[0], data["memory.reserved"]
    for name, colour, title in (("program", ORANGE, "program order"), ("planned", BLUE, "as planned")):
        steps = [mib / 1024 for mib in data[f"memory.live.{name}"]]
        live.step(range(len(steps)), steps, where="post", color=colour, linewidth=1.5, label=f"{title}: {max(steps):.2f} GiB in use")
    live.axhline(reserved[0] / 1024, color=ORANGE, linewidth=1, linestyle=(0, (4, 3)))
    note(live, 0, reserved[0] / 1024 + 0.04, f"reserved by PyTorch's allocator in program order: {reserved[0] / 1024:.2f} GiB", SOFT, va="bottom")
    live.set_title("a training step of GPT2-XL, 12 layers, 512 tokens: GiB in use")
    live.set_xlabel("operators that have run")
    live.set_ylim(min(data["memory.live.program"]) / 1024 * 0.97, reserved[0] / 1024 + 0.35)
    live.legend(loc="upper left", bbox_to_anchor=(0, 0.86), fontsize=9.5)
    side = axes[1]
    height, bound = data["memory.layout.height"]
    by_colour = {}
    for number, (begin, end, at, size) in enumerate(data["memory.layout"]):
        by_colour.setdefault((BLUE, SKY, GREEN, GREY)[number % 4], []).append((begin, at / 1024, end - begin, size / 1024))
    for colour, rectangles in by_colour.items():
        boxes(side, rectangles, colour, edgecolor=PAPER, linewidth=0.4)
    side.axhline(bound / 1024, color=INK, linewidth=1)
    proof = "proven optimal" if height == bound else f"at least {bound / 1024:.0f}"
    side.set_title(f"a step of a U-Net, 16 images: {height / 1024:.0f} MiB, {proof}")
    side.set_ylabel("address, MiB")
    side.set_xlabel("operators that have run")
    side.set_ylim(0, height / 1024 * 1.02)
    side.set_xlim(0, max(end for _, end, _, _ in data["memory.layout"]))


def memory_layout():
    _, axes = figure(3.4, 1, 2, sharey=True)
    heights = data["memory_layout.height"]
    for side, column, title in ((axes[0], 3, "first fit"), (axes[1], 4, "layout_buffers")):
        colour = ORANGE if column == 3 else BLUE
        boxes(side, [(0, 0, 1000, heights[column - 3])], WAIT)
        boxes(side, [(row[0], row[column], row[1] - row[0], row[2]) for row in data["memory_layout"]], colour, edgecolor=PAPER, linewidth=1)
        side.plot([0, 1000], [heights[2]] * 2, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        side.set_title(f"{title}: {heights[column - 3]} bytes")
        side.set_xticks([])
        side.set_xlabel("time")
        bare(side)
        side.set_ylim(0, 1.03 * heights[0])
    axes[0].set_ylabel("address; dashed: max load")


def main():
    folder = pathlib.Path(sys.argv[1])
    for draw in (first_look, packing, near_optimal, omnibal, layout, balance, loss, batching, randomness, frontier, sharding, execution, plan, levels, curriculum,
                 cost, memory_model, memory_layout, partition, recompute, staging, pipeline, memory):
        draw()
        save(draw.__name__.replace("_", "-"), folder)


main()
