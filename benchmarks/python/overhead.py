#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds to a step: CPU time of the thread that calls optimizer.step() while the library's own step returns at
once. The cases take turns, so that a busy machine slows all of them; torch's own foreach SGD stands beside them for scale.
After a backward pass the caches are cold, and torch makes the Python objects of the gradients.

    benchmarks/python/overhead.py BUILD/src/libtrasmuon.so [--parameters 200] [--rounds 50]
"""
import argparse
import os
import pathlib
import statistics
import sys
import time

import torch

_STEPS = 20  # of one case in a row


def _microseconds(step, prepare):
    times = []
    for _ in range(_STEPS):
        prepare()
        start = time.thread_time()
        step()
        times.append(1e6 * (time.thread_time() - start))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--parameters", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=50, help=f"of {_STEPS} steps of each case")
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

    seeds = [torch.ones(8, 8) for _ in tensors]

    def backward():
        sgd.zero_grad(set_to_none=True)
        torch.autograd.backward([tensor * 2 for tensor in tensors], seeds)

    def next_rate():
        optimizer.param_groups[0]["lr"] *= 0.9999

    fresh_gradients()
    optimizer.step()
    watched_model = torch.nn.ModuleList([torch.nn.Linear(8, 8, bias=False) for _ in range(arguments.parameters)])
    watched = libtrasmuon.TrasMuon(watched_model)
    for tensor in watched_model.parameters():
        tensor.grad = torch.ones(8, 8)
    held = [dict(state) for state in watched.state.values()]  # could be moved, so each step looks where it is
    watched.step()
    _library.lib.trasmuon_optimizer_step_on_streams = lambda *_: 0
    sgd = torch.optim.SGD(tensors, lr=0.0, foreach=True)
    cases = {
        "the same gradients": (optimizer.step, lambda: None),
        "new gradients each step": (optimizer.step, fresh_gradients),
        "new learning rate each step": (optimizer.step, next_rate),
        "after a backward pass": (optimizer.step, backward),
        f"state held, {sum(map(len, held))} tensors": (watched.step, lambda: None),
        "torch SGD, foreach": (sgd.step, lambda: None),
        "torch SGD, new gradients": (sgd.step, fresh_gradients),
        "torch SGD, after a backward pass": (sgd.step, backward),
    }
    times = {name: [] for name in cases}
    for _ in range(arguments.rounds):
        for name, (step, prepare) in cases.items():
            times[name] += _microseconds(step, prepare)
    print(f"{arguments.parameters} parameters, torch {torch.__version__}, Python {sys.version.split()[0]}")
    scale = times["torch SGD, foreach"]
    for name, taken in times.items():
        ratio = statistics.median(taken) / statistics.median(scale)
        print(f"{name:33} median {statistics.median(taken):6.1f} us, least {min(taken):6.1f} us, {ratio:.2f} of SGD's")


if __name__ == "__main__":
    main()
