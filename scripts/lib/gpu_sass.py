# SPDX-License-Identifier: Apache-2.0
"""Prints what the compiler made of the kernels of ballast in programs: gpu_sass.py PROGRAM... (needs cuobjdump, nvdisasm, c++filt).

A row is a kernel: its instructions, all branches together, its registers, the bytes of its stack, where spilled registers go, and how many of
its atomics are loops of compare-and-swap.
"""

import re
import subprocess
import sys


def printed(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def short(name):
    """A kernel without namespaces and parameters."""
    return re.sub(r"^void |ballast::v\d+_\d+::|gpu::|detail::|\(anonymous namespace\)::|(?<=>)\(unsigned long.*$", "", name)


def kernels(program):
    usage = dict(re.findall(r"Function (\S+):\n\s*(REG:.*)", printed("cuobjdump", "-res-usage", program)))
    found, name = {}, None
    for line in printed("cuobjdump", "-sass", program).splitlines():
        if head := re.search(r"Function : (\S+)", line):
            name = head.group(1)
            found[name] = {"instructions": 0, "loops": 0}
        elif name and re.match(r"\s+/\*[0-9a-f]{4,}\*/", line):
            found[name]["instructions"] += "NOP" not in line
            found[name]["loops"] += "CAST.SPIN" in line or ".CAS" in line
    for name, row in found.items():
        row.update((key.lower(), int(value)) for key, value in re.findall(r"(REG|STACK):(\d+)", usage.get(name, "")))
    return found


def main():
    rows = {}
    for program in sys.argv[1:]:
        rows.update(kernels(program))
    names = printed("c++filt", input="\n".join(rows)).splitlines()
    own = {short(name): row for name, row in zip(names, rows.values()) if name.startswith("void ballast::")}
    print("| kernel | instructions | registers | stack | loops of atomics |\n|---|---|---|---|---|")
    for name, row in sorted(own.items()):
        print(f"| `{name}` | {row['instructions']:,} | {row['reg']} | {row['stack']} | {row['loops']} |")


main()
