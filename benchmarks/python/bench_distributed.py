#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps over 1 to 4 processes of this machine with Gloo on loopback: time, bytes on the wire, state of a rank.

    bench_distributed.py LIBRARY [--dion FOLDER] [--release FOLDER] [--json FILE]

LIBRARY is libtrasmuon.so. Peers are measured in the same processes, in turns: FOLDER is a clone of
https://github.com/microsoft/dion, and one with trasmuon-pytorch (`pip install --no-deps --target FOLDER
trasmuon-pytorch==0.1.0`). Needs torch 2.6 or later.

The matrices have the shapes of GPT-2 small, by default at half its width. "copies": every rank has whole weights and the same gradients (DDP).
"rows": DTensors sharded by rows (FSDP2). Bytes are those that the kernel has sent over the processes' TCP connections.
All processes share the machine's cores: this shows what exchanges cost, not what more machines gain. CPU seconds are
those of all processes together, which other programs disturb less. Peers iterate in
bf16 with torch's products and run without torch.compile, which is made for GPUs; their times on a CPU say little.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

TCP_INFO_BYTES_SENT = 200  # offset in struct tcp_info, Linux 4.19


def tcp_bytes_sent():
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        except OSError:  # closed since, or not TCP
            continue
        total += struct.unpack_from("Q", info, TCP_INFO_BYTES_SENT)[0]
    return total


def shapes(options):
    width = options.width
    return [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)] * options.layers


def weights(options, mesh):
    """Random weights with random gradients, the same on all ranks; with a mesh, the rank's rows of them."""
    torch.manual_seed(0)
    tensors = []
    for shape in shapes(options):
        weight, gradient = 0.02 * torch.randn(shape), torch.randn(shape)
        if mesh is not None:
            from torch.distributed.tensor import Shard, distribute_tensor

            weight, gradient = (distribute_tensor(tensor, mesh, [Shard(0)]) for tensor in (weight, gradient))
        tensors.append(torch.nn.Parameter(weight))
        tensors[-1].grad = gradient
    return tensors


def contenders(options):
    """Name -> function of weights and mesh (None: copies) that returns an optimizer."""
    import libtrasmuon

    # One process needs no group; DTensors bring their mesh.
    group = None if dist.get_world_size() == 1 else dist.group.WORLD
    found = {
        "libtrasmuon, TrasMuon": lambda w, mesh: libtrasmuon.TrasMuon(w, process_group=None if mesh else group),
        "libtrasmuon, NorMuon": lambda w, mesh: libtrasmuon.NorMuon(w, process_group=None if mesh else group),
    }
    if options.dion:
        import dion

        found["dion, NorMuon"] = lambda w, mesh: dion.NorMuon(w, distributed_mesh=mesh or group)
    if options.release:
        import trasmuon

        found["release, TrasMuon"] = lambda w, mesh: trasmuon.TrasMuon(w, distributed_mesh=mesh or group)
    return found


def state_bytes(optimizer):
    def local(tensor):
        return tensor.to_local() if hasattr(tensor, "to_local") else tensor

    tensors = [local(t) for state in optimizer.state.values() for t in state.values() if torch.is_tensor(t)]
    return sum(t.numel() * t.element_size() for t in tensors)


def measure(make, options, mesh):
    """Returns seconds of each step on this rank, bytes sent in one, and bytes of state; or why it does not run."""
    try:
        tensors = weights(options, mesh)
        optimizer = make(tensors, mesh)
        optimizer.step()
    except Exception as error:  # a peer's; all ranks meet the same one
        return f"{type(error).__name__}: {error}".split("\n")[0]
    seconds, sent, cpu = [], 0, time.process_time()
    for _ in range(options.steps):
        dist.barrier()
        before, start = tcp_bytes_sent(), time.perf_counter()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
        sent += tcp_bytes_sent() - before
    cpu = time.process_time() - cpu
    dist.barrier()
    return {"seconds": seconds, "cpu": cpu / options.steps, "bytes": sent / options.steps, "state": state_bytes(optimizer)}


def run(rank, ranks, folder, options):
    threads = max(1, len(os.sched_getaffinity(0)) // ranks)
    torch.set_num_threads(threads)
    os.environ.update(GLOO_SOCKET_IFNAME="lo", TORCHDYNAMO_DISABLE="1", TRASMUON_NUM_THREADS=str(threads),
                      TRASMUON_LIBRARY=os.path.abspath(options.library))
    sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "python")]
    sys.path += [path for path in (options.dion, options.release) if path]
    dist.init_process_group("gloo", init_method=f"file://{folder}/init", rank=rank, world_size=ranks)
    mesh = dist.init_device_mesh("cpu", (ranks,)) if ranks > 1 else None
    results = {}
    for layout in ("copies", "rows"):
        if layout == "rows" and ranks == 1:
            continue  # one process has all rows
        for name, make in contenders(options).items():
            results[f"{name}, {layout}"] = measure(make, options, mesh if layout == "rows" else None)
    every = [None] * ranks
    dist.all_gather_object(every, results)
    if rank == 0:
        pathlib.Path(folder, "results").write_text(json.dumps(every))
    dist.barrier()
    dist.destroy_process_group()


def launch(ranks, options):
    """Returns for each contender what all ranks report together."""
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, (ranks, folder, options), nprocs=ranks)
        every = json.loads(pathlib.Path(folder, "results").read_text())
    parameters = sum(rows * columns for rows, columns in shapes(options))
    found = {}
    for name, first in every[0].items():
        if isinstance(first, str):
            found[name] = {"does not run": first}
            continue
        of_ranks = [results[name] for results in every]
        found[name] = {
            "seconds": statistics.median(max(times) for times in zip(*(r["seconds"] for r in of_ranks))),
            "cpu_seconds_of_all": sum(r["cpu"] for r in of_ranks),
            "wire_bytes_per_parameter": sum(r["bytes"] for r in of_ranks) / parameters,
            "largest_state_bytes_per_parameter": max(r["state"] for r in of_ranks) / parameters,
        }
    return found


def bound(layout, ranks):
    """Bytes per parameter, summed over ranks: f32 weights to all others; M and O in 16 bits to the owner and back."""
    return 4 * (ranks - 1) if layout == "copies" else 4 * (ranks - 1) / ranks


def version_of(folder):
    """The commit of a clone, or the packages that pip has put into a folder."""
    commit = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    packages = [path.stem for path in pathlib.Path(folder).glob("*.dist-info")]
    return " ".join(packages) or commit.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--dion", help="folder of microsoft/dion")
    parser.add_argument("--release", help="folder with trasmuon-pytorch")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=384, help="768 in GPT-2 small")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--json")
    options = parser.parse_args()

    rounds = [{ranks: launch(ranks, options) for ranks in options.ranks} for _ in range(options.rounds)]
    rows = []
    for ranks in options.ranks:
        for name, first in rounds[0][ranks].items():
            row = {"processes": ranks, "optimizer": name, **first}
            if "seconds" in first:
                for field in ("seconds", "cpu_seconds_of_all"):
                    row[field] = [r[ranks][name][field] for r in rounds]
                row["bound_bytes_per_parameter"] = bound(name.rsplit(", ", 1)[1], ranks)
            rows.append(row)
            print(json.dumps(row), flush=True)
    if options.json:
        cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
        record = {
            "benchmark": "bench_distributed.py",
            "command": " ".join(["benchmarks/python/bench_distributed.py", *map(os.path.basename, sys.argv[1:])]),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "machine": {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
                        "torch": torch.__version__},
            "peers": {
                name: version_of(folder)
                for name, folder in (("dion", options.dion), ("release", options.release))
                if folder
            },
            "threads_per_process": "cores / processes, at least one",
            "layers": options.layers,
            "width": options.width,
            "parameters": sum(rows * columns for rows, columns in shapes(options)),
            "runs": rows,
        }
        pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
