#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares libtrasmuon.released with the authors' package, step by step on the same gradients.

    compare_release.py LIBRARY [--steps N]
    compare_release.py LIBRARY --differences

LIBRARY is libtrasmuon.so. Needs torch 2.x and trasmuon-pytorch 0.1.0 (`pip install --no-deps trasmuon-pytorch==0.1.0`),
whose modules are called `trasmuon`. E_ref, c_ema and c_last must agree to 1e-6 where they do not depend on
Newton-Schulz, which the package computes in bf16; W must agree to 1e-2 of its change. Exits with 1 if not.

With --differences, which needs torch alone: how far the preset "released" moves when one of its options is that of the
default or of the paper. Largest difference of c in any of 300 steps, and that of W at the end over W's change.
"""
import argparse
import os
import pathlib
import sys

import torch

# Arguments of the package, which libtrasmuon.released takes as well.
CASES = [
    ("default", {}),
    ("warm-up, every step", {"warmup_steps": 20, "col_gate_every": 1}),
    ("warm-up counted", {"warmup_steps": 20, "sf_exclude_warmup": False}),
    ("no trigger", {"use_energy_trigger": False, "col_gate_cmin": 0.2}),
    ("no average", {"sf_enabled": False}),
    ("gradient, q = 0.8", {"col_gate_use": "g", "energy_quantile": 0.8}),
    ("O_base", {"col_gate_use": "O_base"}),
    ("gamma = eta^", {"gamma_source": "eta_hat"}),
]
# What the default or the paper has in place of the release's.
DIFFERENCES = [
    {"reference_start": "corrected"}, {"reference_start": "zero"}, {"quantile_rule": "interpolated"},
    {"gate_first_step": "false"}, {"period": 1}, {"beta_energy": 0.95}, {"beta_clip": 0.5}, {"trigger": 2},
    {"c_min": 0.1}, {"rho": 0.1}, {"coefficients": "keller"}, {"eps_reference": 0}, {"eps_reference": 1e-8},
    {"row_eps": "inside"}, {"input_eps": "capped"}, {"eps_calibration": 1e-8}, {"eps_average": 0},
    {"clamp_damping": "true"}, {"preset": "default", "nesterov": "false"}, {"preset": "paper", "rms_scale": 0.2},
]
SHAPES = [(64, 64), (48, 96), (96, 33), (4, 16), (16, 6)]
LR, DECAY = 1e-3, 0.1


def gradients(shape, steps):
    """Columns of unequal scale, and a burst every ninth step."""
    generator = torch.Generator().manual_seed(3)
    scale = torch.rand(shape[1], generator=generator) + 0.5
    for step in range(steps):
        g = torch.randn(shape, generator=generator) * scale
        if step % 9 == 4:
            g[:, step % shape[1]] *= 30
        yield g


def distance(ours, theirs):
    """The largest difference over the largest value."""
    ours, theirs = ours.double().flatten(), theirs.double().flatten()
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-30))


def compare(shape, options, steps):
    """Returns the largest distance of E_ref, c_ema and c_last in any step, and that of W at the end."""
    import libtrasmuon.released
    import trasmuon

    start = torch.randn(shape, generator=torch.Generator().manual_seed(5))
    their_w = torch.nn.Parameter(start.clone())
    our_w = start.clone()
    our_w.grad = torch.zeros_like(our_w)
    theirs = trasmuon.TrasMuon([their_w], lr=LR, weight_decay=DECAY, **options)
    ours = libtrasmuon.released.TrasMuon([our_w], lr=LR, weight_decay=DECAY, **options)
    worst = 0
    for g in gradients(shape, steps):
        their_w.grad = g.clone()
        our_w.grad.copy_(g)
        theirs.step()
        ours.step()
        state = theirs.state[their_w]
        for our_name, their_name in (("e_ref", "E_ref_ema"), ("c_ema", "c_ema"), ("c_last", "c_last")):
            worst = max(worst, distance(ours.state[our_w][our_name], state[their_name]))
    change = (their_w.detach() - start).norm()
    return worst, float((our_w - their_w.detach()).norm() / change)


def trajectory(options, steps=300):
    """The damping of every step and W at the end, of this library alone."""
    import libtrasmuon

    w = torch.randn((64, 64), generator=torch.Generator().manual_seed(5))
    start, w.grad, c = w.clone(), torch.zeros_like(w), []
    optimizer = libtrasmuon.TrasMuon([w], **options)
    for g in gradients((64, 64), steps):
        w.grad.copy_(g)
        optimizer.step()
        c.append(optimizer.state[w]["c_last"].clone())
    return torch.stack(c), w - start


def differences():
    released = {"preset": "released", "lr": LR, "weight_decay": 0}
    base_c, base_w = trajectory(released)
    print(f"mean damping of the preset: {float(base_c.mean()):.3f} over all steps, {float(base_c[-1].mean()):.3f} last")
    print(f"{'option':46} {'largest dc':>10} {'dW / change':>11} {'mean c':>7}")
    for change in DIFFERENCES:
        c, w = trajectory({**released, **change})
        name = ", ".join(f"{field} = {value}" for field, value in change.items())
        moved = float((w - base_w).norm() / base_w.norm())
        print(f"{name:46} {float((c - base_c).abs().max()):10.2g} {moved:11.2g} {float(c.mean()):7.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", metavar="LIBRARY")
    parser.add_argument("--steps", type=int, default=60, help="steps of each comparison (default %(default)s)")
    parser.add_argument("--differences", action="store_true", help="compare the preset with changes of itself")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the matrices are small
    os.environ["TRASMUON_LIBRARY"] = arguments.library  # read when the package is imported
    os.environ["TRASMUON_NUM_THREADS"] = "1"
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))  # the package of this tree
    if arguments.differences:
        differences()
        return 0
    torch._dynamo.config.cache_size_limit = 1000  # the package compiles once per shape
    failed = False
    print(f"torch {torch.__version__}, {arguments.steps} steps")
    print(f"{'options':24} {'shape':>8}  {'E_ref, c':>9}  {'W / change':>10}")
    for name, options in CASES:
        needs_direction = "gamma_source" in options or options.get("col_gate_use") == "O_base"
        for shape in SHAPES:
            state, weight = compare(shape, options, arguments.steps)
            bad = weight > 1e-2 or (state > 1e-6 and not needs_direction)
            failed |= bad
            print(f"{name:24} {shape[0]:>4}x{shape[1]:<3}  {state:9.1e}  {weight:10.1e}{'  FAILED' if bad else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
