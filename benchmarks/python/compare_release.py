#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the preset "released" with the authors' package, step by step on the same gradients.

    compare_release.py LIBRARY [--steps N]
    compare_release.py LIBRARY --differences

LIBRARY is libtrasmuon.so. Needs torch 2.x and trasmuon-pytorch 0.1.0 (`pip install --no-deps trasmuon-pytorch==0.1.0`),
whose modules are called `trasmuon`. E_ref, c_ema and c_last must agree to 1e-6 where they do not depend on
Newton-Schulz, which the package computes in bf16; W must agree to 1e-2 of its change. Exits with 1 if not.

With --differences, which needs torch alone: how far the preset "released" moves when one of its options is that of the
default or of the paper. Largest difference of c in any of 300 steps, and that of W at the end over W's change.
"""
import argparse
import sys

import torch

import library

# Options of the package, and the same in this library.
CASES = [
    ("default", {}, {}),
    ("warm-up, every step", {"warmup_steps": 20, "col_gate_every": 1}, {"warmup": 20, "period": 1}),
    ("warm-up counted", {"warmup_steps": 20, "sf_exclude_warmup": False}, {"warmup": 20, "average_warmup": "true"}),
    ("no trigger", {"use_energy_trigger": False, "col_gate_cmin": 0.2}, {"trigger": 0, "c_min": 0.2}),
    ("no average", {"sf_enabled": False}, {"rho": 0}),
    ("gradient, q = 0.8", {"col_gate_use": "g", "energy_quantile": 0.8}, {"energy_of": "gradient", "quantile": 0.8}),
    ("O_base", {"col_gate_use": "O_base"}, {"energy_of": "direction"}),
    ("gamma = eta^", {"gamma_source": "eta_hat"}, {"gamma": "eta_hat"}),
]
# What the default or the paper has in place of the release's.
DIFFERENCES = [
    {"reference_start": "corrected"}, {"reference_start": "zero"}, {"quantile_rule": "interpolated"},
    {"gate_first_step": "false"}, {"period": 1}, {"beta_energy": 0.95}, {"beta_clip": 0.5}, {"trigger": 2},
    {"c_min": 0.1}, {"rho": 0.1}, {"coefficients": "keller"}, {"eps_reference": 0}, {"eps_reference": 1e-8},
    {"row_eps": "inside"}, {"input_eps": "capped"}, {"eps_calibration": 1e-8}, {"eps_average": 0},
    {"clamp_damping": "true"}, {"preset": "default", "rms_scale": 0.2}, {"preset": "paper", "rms_scale": 0.2},
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
    ours, theirs = torch.tensor(ours, dtype=torch.float64), theirs.double().flatten()
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-30))


def compare(path, shape, theirs_options, ours_options, steps):
    """Returns the largest distance of E_ref, c_ema and c_last in any step, and that of W at the end."""
    import trasmuon
    start = torch.randn(shape, generator=torch.Generator().manual_seed(5))
    their_w = torch.nn.Parameter(start.clone())
    our_w = start.clone()
    our_w.grad = torch.zeros_like(our_w)
    theirs = trasmuon.TrasMuon([their_w], lr=LR, weight_decay=DECAY, **theirs_options)
    ours = library.Optimizer(path, "trasmuon", [our_w], preset="released", lr=LR, weight_decay=DECAY, **ours_options)
    worst = 0
    for g in gradients(shape, steps):
        their_w.grad = g.clone()
        our_w.grad.copy_(g)
        theirs.step()
        ours.step()
        state = theirs.state[their_w]
        for our_name, their_name in (("e_ref", "E_ref_ema"), ("c_ema", "c_ema"), ("c_last", "c_last")):
            worst = max(worst, distance(ours.state(0, our_name), state[their_name]))
    ours.close()
    change = (their_w.detach() - start).norm()
    return worst, float((our_w - their_w.detach()).norm() / change)


def trajectory(path, options, steps=300):
    """The damping of every step and W at the end, of this library alone."""
    w = torch.randn((64, 64), generator=torch.Generator().manual_seed(5))
    start, w.grad, c = w.clone(), torch.zeros_like(w), []
    optimizer = library.Optimizer(path, "trasmuon", [w], **options)
    for g in gradients((64, 64), steps):
        w.grad.copy_(g)
        optimizer.step()
        c.append(optimizer.state(0, "c_last"))
    optimizer.close()
    return torch.tensor(c), w - start


def differences(path):
    released = {"preset": "released", "lr": LR, "weight_decay": 0}
    base_c, base_w = trajectory(path, released)
    print(f"mean damping of the preset: {float(base_c.mean()):.3f} over all steps, {float(base_c[-1].mean()):.3f} last")
    print(f"{'option':46} {'largest dc':>10} {'dW / change':>11} {'mean c':>7}")
    for change in DIFFERENCES:
        c, w = trajectory(path, {**released, **change})
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
    library.set_num_threads(arguments.library, 1)
    if arguments.differences:
        differences(arguments.library)
        return 0
    torch._dynamo.config.cache_size_limit = 1000  # the package compiles once per shape
    failed = False
    print(f"torch {torch.__version__}, {arguments.steps} steps")
    print(f"{'options':24} {'shape':>8}  {'E_ref, c':>9}  {'W / change':>10}")
    for name, theirs, ours in CASES:
        needs_direction = "gamma" in ours or ours.get("energy_of") == "direction"
        for shape in SHAPES:
            state, weight = compare(arguments.library, shape, theirs, ours, arguments.steps)
            bad = weight > 1e-2 or (state > 1e-6 and not needs_direction)
            failed |= bad
            print(f"{name:24} {shape[0]:>4}x{shape[1]:<3}  {state:9.1e}  {weight:10.1e}{'  FAILED' if bad else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
