# SPDX-License-Identifier: Apache-2.0
"""Prints what the compiler made of the kernels of ballast in programs: gpu_sass.py PROGRAM... (needs cuobjdump, nvdisasm, c++filt).

A row is a kernel: its instructions, all branches together, its registers, the bytes of its stack, where spilled registers go, and how many of
its atomics are loops of compare-and-swap. For a kernel with a loop over 16-byte accesses to global memory, the passes over rows, the last
column is the least number of instructions that a lane executes on its way through that loop twice: 8 tokens, all of one sequence. Where
there is no such access, it is the longest of the ways twice through a loop that writes to global memory.
"""

import re
import subprocess
import sys


def printed(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def short(name):
    """A kernel without namespaces and parameters."""
    return re.sub(r"^void |ballast::v\d+_\d+::|gpu::|detail::|\(anonymous namespace\)::|(?<=>)\(unsigned long.*$", "", name)


def least_steps(code, start):
    """How many instructions away from one of them each other one is, at least; the end is at -1."""
    found, layer, steps = {}, [start], 0
    while layer:
        steps += 1
        following = []
        for at in layer:
            text = code[at]
            after, jump = [at + 1], re.search(r"BRA.* 0x([0-9a-f]+)", text)
            if jump:
                after.append(int(jump[1], 16) // 16)
            if re.search(r"\b(EXIT|RET)", text):
                after.append(-1)
            if re.match(r"(BRA|EXIT|RET)", text):  # without a condition
                after.pop(0)
            for to in after:
                if to not in found and (to == -1 or to in code):
                    found[to] = steps
                    following += [to] * (to != -1)
        layer = following
    return found


def paths_of_8(code, access):
    """The ways twice through loops with such an access to global memory."""
    paths, before = [], least_steps(code, min(code))
    for at, text in code.items():
        if re.search(access, text):
            after = least_steps(code, at)
            if at in before and at in after and -1 in after:
                paths.append(before[at] + after[at] + after[-1])
    return paths


def path_of_8(code):
    return min(paths_of_8(code, r"(LDG|STG)\S*[.]128"), default=None) or max(paths_of_8(code, r"STG"), default=None)


def kernels(program):
    usage = dict(re.findall(r"Function (\S+):\n\s*(REG:.*)", printed("cuobjdump", "-res-usage", program)))
    found, name = {}, None
    for line in printed("cuobjdump", "-sass", program).splitlines():
        if head := re.search(r"Function : (\S+)", line):
            name = head.group(1)
            found[name] = {"instructions": 0, "loops": 0, "code": {}}
        elif name and re.match(r"\s+/\*[0-9a-f]{4,}\*/", line):
            found[name]["instructions"] += "NOP" not in line
            found[name]["loops"] += "CAST.SPIN" in line or ".CAS" in line
            at, text = re.match(r"\s+/\*([0-9a-f]+)\*/\s+(.*?);", line).groups()
            found[name]["code"][int(at, 16) // 16] = text
    for name, row in found.items():
        row["path"] = path_of_8(row["code"])
        row.update((key.lower(), int(value)) for key, value in re.findall(r"(REG|STACK):(\d+)", usage.get(name, "")))
    return found


def main():
    rows = {}
    for program in sys.argv[1:]:
        rows.update(kernels(program))
    names = printed("c++filt", input="\n".join(rows)).splitlines()
    own = {short(name): row for name, row in zip(names, rows.values()) if name.startswith("void ballast::")}
    print("| kernel | instructions | registers | stack | loops of atomics | path of 8 tokens |\n|---|---|---|---|---|---|")
    for name, row in sorted(own.items()):
        print(f"| `{name}` | {row['instructions']:,} | {row['reg']} | {row['stack']} | {row['loops']} | {row['path'] or ''} |")


main()
