#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws step_times.svg, the figure of README.md: our rows from a result of bench_step_cuda, the others' from one of
bench.py. Needs gnuplot.
"""
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
RESULTS = HERE.parent.parent / "benchmarks/results"
BARS = [  # name in the file, label, color
    ("ours, trasmuon", "TrasMuon, this library", "#d1495b"),
    ("torch.optim.Muon", "torch.optim.Muon", "#8d99ae"),
    ("TrasMuon in torch, compiled", "TrasMuon in PyTorch, compiled", "#8d99ae"),
    ("TrasMuon in torch, eager", "TrasMuon in PyTorch, eager", "#8d99ae"),
    ("torch AdamW, fused (elementwise, for scale)", "AdamW, torch fused (for scale)", "#d8dee9"),
]
MODELS = [("GPT-2 small", "GPT-2 small, 48 matrices"), ("Qwen3-0.6B", "Qwen3-0.6B, 196 matrices")]


def panel(times, title, labelled):
    longest = max(times[name][0] for name, _, _ in BARS)
    lines = [f"set title '{title}' font ',14' offset 0,-0.9", f"set xrange [0:{1.22 * longest}]", "unset label", "unset ytics"]
    rows = []
    for place, (name, label, color) in enumerate(BARS):
        median = times[name][0]
        rows.append(f"{median} {-place} {int(color[1:], 16)}")
        text = f"{median:.3g} ms"
        lines.append(f"set label '{text}' at {median + 0.02 * longest},{-place} left font ',13'")
        if labelled:
            lines.append(f"set label '{label}' at graph -0.03, first {-place} right font ',13'")
    lines.append("$bars << END\n" + "\n".join(rows) + "\nEND")
    lines.append("plot $bars using (0):2:(0):1:($2-0.36):($2+0.36):3 with boxxyerror fillstyle solid noborder "
                 "linecolor rgb variable notitle")
    return lines


def main():
    theirs, ours = (json.loads((RESULTS / f"h200-{date}.json").read_text()) for date in ("2026-11-16", "2026-11-19"))
    key = "milliseconds, median and minimum"
    times = {model: theirs[key][model] | ours[key][model] for model, _ in MODELS}
    script = ["set terminal svg size 960,280 font 'Helvetica,13' background '#ffffff'",
              f"set output '{HERE / 'step_times.svg'}'",
              f"set multiplot layout 1,2 title 'One optimizer step on an {ours['card']}, median' font ',16' offset 0,-0.2",
              f"set yrange [{0.6 - len(BARS)}:0.6]", "unset border", "unset xtics"]
    for number, (model, title) in enumerate(MODELS):
        left, right = (0.245, 0.60) if number == 0 else (0.63, 0.985)
        script += [f"set lmargin at screen {left}", f"set rmargin at screen {right}",
                   "set tmargin at screen 0.76", "set bmargin at screen 0.03"]
        script += panel(times[model], title, number == 0)
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


if __name__ == "__main__":
    main()
