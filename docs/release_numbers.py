#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what docs/release.md says about trasmuon-pytorch 0.1.0, measured on the CPU.

    release_numbers.py [NAME...]     all of them, or those named

Needs torch 2.x and the package (`pip install --no-deps trasmuon-pytorch==0.1.0`).
"""
import copy
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import trasmuon
from trasmuon import optimizer as package


def parameter(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    return torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype))


def train(weight, steps, gradient, **options):
    """Steps with gradient(step, generator); yields the state of the weight after each step."""
    generator = torch.Generator().manual_seed(3)
    optimizer = trasmuon.TrasMuon([weight], **options)
    for step in range(1, steps + 1):
        weight.grad = gradient(step, generator).to(weight.dtype)
        optimizer.step()
        yield step, optimizer.state[weight]


def noise(shape):
    return lambda step, generator: torch.randn(shape, generator=generator)


def gate():
    """The gate of a column by its energy ratio, for alpha from 0.31 to 100."""
    ratios = torch.cat([torch.linspace(0, 3, 50), torch.logspace(0.5, 9, 200)])
    seen = set()
    for alpha in (0.31, 1.0, 10.0, 100.0):
        c, _, _ = package._compute_energy_gate_logform(
            ratios, torch.tensor(1.0), in_dim=len(ratios), col_gate_alpha=alpha, col_gate_cmin=0.7, eps_energy=1e-12,
            energy_k=3.0, use_energy_trigger=True)
        seen |= {round(float(x), 4) for x in c}
    print("gate: values of c_j:", *sorted(seen))
    for when in (300, 301):
        c = [float(state["c_last"][7]) for _, state in train(parameter(64, 64), when + 30, burst_at(when),
                                                             warmup_steps=100)]
        print(f"gate: burst of 100 times in step {when}: c = {c[when - 1]:.3f} in that step, "
              f"{min(c[when:]):.3f} at the lowest, {c[-1]:.3f} after 30 steps")


def burst_at(when):
    def gradient(step, generator):
        g = torch.randn(64, 64, generator=generator)
        if step == when:
            g[:, 7] *= 100
        return g
    return gradient


def cold_start():
    """Share of the columns that are triggered, and the mean damping."""
    constant = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    for name, gradient in (("noise", noise((64, 64))), ("constant", lambda step, generator: constant)):
        shown = []
        for step, state in train(parameter(64, 64), 300, gradient):
            if step in (8, 20, 40, 60, 100, 300):
                rate, c = float(state["active_rate"]), float(state["c_last"].mean())
                shown.append(f"t = {step}: {100 * rate:.0f} %, c {c:.2f}")
        print(f"cold_start: {name}:", "; ".join(shown))


def no_effect():
    """Options that change no bit of W."""
    def final(**options):
        weight = parameter(64, 64)
        for _ in train(weight, 300, noise((64, 64)), **options):
            pass
        return weight.detach()
    usual = final()
    for options in ({"sf_tau_mode": "fixed"}, {"sf_t_half": 3}, {"sf_warmup_steps": 7}, {"S0": 1e6},
                    {"col_gate_alpha": 50.0}, {"ns_iters": 9}):
        same = torch.equal(usual, final(**options))
        print(f"no_effect: {options}: {'same bits' if same else 'W differs'}")


def nan():
    """One NaN in one gradient."""
    weight = parameter(64, 64)
    def gradient(step, generator):
        g = torch.randn(64, 64, generator=generator)
        if step == 3:
            g[5, 6] = float("nan")
        return g
    for step, state in train(weight, 20, gradient):
        if step in (2, 3, 20):
            bad = int(weight.isnan().sum())
            print(f"nan: t = {step}: {bad} of 4096 weights are NaN, E_ref {float(state['E_ref_ema']):.2g}")


def resume():
    """A state dict of bf16 weights, saved after 100 steps and loaded again."""
    first, gradients = parameter(64, 64, dtype=torch.bfloat16), []
    generator = torch.Generator().manual_seed(3)
    for _ in range(160):
        gradients.append(torch.randn(64, 64, generator=generator).bfloat16())
    optimizer = trasmuon.TrasMuon([first], lr=1e-2)
    for g in gradients[:100]:
        first.grad = g
        optimizer.step()
    second = torch.nn.Parameter(first.detach().clone())
    resumed = trasmuon.TrasMuon([second], lr=1e-2)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    print("resume: dtype of the momentum before and after:", optimizer.state[first]["momentum"].dtype,
          resumed.state[second]["momentum"].dtype)
    kept, start = first.detach().float().clone(), optimizer.state[first]["S_lr2"].item()
    for g in gradients[100:]:
        first.grad, second.grad = g, g.clone()
        optimizer.step()
        resumed.step()
    moved = (first.detach().float() - kept).norm()
    apart = (first.detach().float() - second.detach().float()).norm()
    print(f"resume: after 60 more steps W differs by {float(apart / moved):.2g} "
          f"of its change; S grew by {optimizer.state[first]['S_lr2'].item() - start:.4f}, "
          f"resumed by {resumed.state[second]['S_lr2'].item() - start:.4f}")


def shapes():
    """Matrices of more and more different shapes, with torch.compile as the package uses it."""
    for count in range(1, 12):
        weights = [parameter(4 + i, 16) for i in range(count)]
        optimizer = trasmuon.TrasMuon(weights)
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        try:
            optimizer.step()
        except Exception as error:  # of torch._dynamo, by version
            print(f"shapes: {count} shapes: {type(error).__name__}")
            return
    print("shapes: no error")


def shard_worker(rank, ranks, folder, rows, with_mesh):
    torch.set_num_threads(1)
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    dist.init_process_group("gloo", init_method=f"file://{folder}/init", rank=rank, world_size=ranks)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (ranks,))
    whole = torch.randn(rows, 32, generator=torch.Generator().manual_seed(5))
    gradient = torch.randn(rows, 32, generator=torch.Generator().manual_seed(3))
    weight = torch.nn.Parameter(distribute_tensor(whole, mesh, [Shard(0)]))
    optimizer = trasmuon.TrasMuon([weight], lr=1e-3, scale_factor=1.0, distributed_mesh=mesh if with_mesh else None)
    weight.grad = distribute_tensor(gradient, mesh, [Shard(0)])
    optimizer.step()
    update = weight.detach().full_tensor() - whole
    if rank == 0:
        print(f"{float(update.square().mean().sqrt() / 1e-3):.3f}", flush=True)
    dist.destroy_process_group()


def run_shards(label, ranks, rows, with_mesh):
    print(f"{label}: ", end="", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        context = mp.spawn(shard_worker, (ranks, folder, rows, with_mesh), nprocs=ranks, join=False)
        try:
            for _ in range(60):
                if context.join(timeout=1):
                    return
            print("no result after a minute")
        except Exception as error:
            print("fails:", str(error).strip().splitlines()[-1][:160])
        for process in context.processes:
            process.kill()


def shards():
    """RMS of the first update over lr, which is 1, of a matrix sharded by rows over two to four processes."""
    run_shards("shards: 2 ranks with a mesh, update RMS / lr", 2, 64, True)
    run_shards("shards: 2 ranks without a mesh, update RMS / lr", 2, 64, False)
    run_shards("shards: 4 ranks without a mesh, update RMS / lr", 4, 64, False)
    run_shards("shards: 2 ranks with a mesh, 65 rows", 2, 65, True)
    run_shards("shards: 4 ranks with a mesh, 5 rows", 4, 5, True)


ALL = {f.__name__: f for f in (gate, cold_start, no_effect, nan, resume, shards, shapes)}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or ALL:
        ALL[name]()
