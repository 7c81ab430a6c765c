#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds to a step: the time of optimizer.step() while the library's own step returns at once.

    benchmarks/python/overhead.py BUILD/src/libtrasmuon.so [--parameters 200]
"""
import argparse
import os
import pathlib
import statistics
import sys
import time

import torch


def _microseconds(step, prepare, rounds):
    times = []
    for _ in range(rounds):
        prepare()
        start = time.perf_counter()
        step()
        times.append(1e6 * (time.perf_counter() - start))
    return f"{statistics.median(times):7.1f} us, least {min(times):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--parameters", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2000)
    arguments = parser.parse_args()
    os.environ["TRASMUON_LIBRARY"] = arguments.library
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
    import libtrasmuon
    from libtrasmuon import _library

    model = torch.nn.ModuleList([torch.nn.Linear(8, 8, bias=False) for _ in range(arguments.parameters)])
    optimizer = libtrasmuon.TrasMuon(model)
    tensors = list(model.parameters())

    def fresh_gradients():
        for tensor in tensors:
            tensor.grad = torch.ones(8, 8)

    def next_rate():
        optimizer.param_groups[0]["lr"] *= 0.9999

    fresh_gradients()
    optimizer.step()
    print(f"{arguments.parameters} parameters, torch {torch.__version__}, Python {sys.version.split()[0]}")
    _library.lib.trasmuon_optimizer_step_on_streams = lambda *_: 0
    rounds = arguments.rounds
    print("the same gradients        ", _microseconds(optimizer.step, lambda: None, rounds))
    print("new gradients each step   ", _microseconds(optimizer.step, fresh_gradients, rounds // 10))
    print("new learning rate each step", _microseconds(optimizer.step, next_rate, rounds))
    sgd = torch.optim.SGD(tensors, lr=0.0, foreach=True)
    print("for scale: torch SGD, foreach", _microseconds(sgd.step, lambda: None, rounds // 10))


if __name__ == "__main__":
    main()
