#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times an optimizer step of this library beside torch's optimizers.

    benchmarks/python/bench.py BUILD/src/libtrasmuon.so --device cuda [--only NAME ...] [--no-peers] [--json FILE]
    benchmarks/python/bench.py BUILD/src/libtrasmuon.so --device cpu [--rounds N] [--threads N] [--quick] [--json FILE]

With --release FOLDER and --dion FOLDER also beside the authors' package and microsoft/dion.
"""
import argparse
import os
import pathlib
import sys

# As in bench_step: torch is faster when its threads do not spin on cores that others need. OpenMP reads this when
# torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))  # the package of this tree

import other_packages
from models import MODELS, SHAPES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libtrasmuon.so; for CUDA with libtrasmuon_cuda.so beside it")
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True, help="where to step")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file (format: benchmarks/results/README.md)")
    on_cuda = parser.add_argument_group("with --device cuda")
    on_cuda.add_argument("--no-peers", action="store_true", help="time this library alone")
    on_cuda.add_argument("--peers", default="", metavar="TEXT",
                         help="only those peers whose name contains TEXT, such as microsoft; some compile for minutes")
    on_cuda.add_argument("--only", nargs="+", choices=[*MODELS, *SHAPES], metavar="NAME",
                         help="TrasMuon alone, on these models or shapes of benchmarks/models.json")
    on_cpu = parser.add_argument_group("with --device cpu")
    on_cpu.add_argument("--rounds", type=int, default=3, help="timed steps of each side, in turns (default 3)")
    on_cpu.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="of both sides (default: all cores)")
    on_cpu.add_argument("--quick", action="store_true", help="one layer of GPT-2 small instead of twelve")
    other_packages.add_arguments(parser)
    arguments = parser.parse_args()
    os.environ["TRASMUON_LIBRARY"] = arguments.library  # read when the package is imported
    if arguments.device == "cuda":
        import steps_on_cuda as steps
    else:
        import steps_on_cpu as steps
    steps.run(arguments)


if __name__ == "__main__":
    main()
