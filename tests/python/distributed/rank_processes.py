# SPDX-License-Identifier: Apache-2.0
"""Runs a function on several ranks: real processes, with Gloo on loopback."""
import datetime
import multiprocessing
import os
import signal
import time
import traceback
from typing import NamedTuple

import torch
import torch.distributed as dist
from conftest import TORCH

# What ranks would import otherwise; torch's optimizers import torch._dynamo, which takes seconds.
_PRELOADED = ["rank_nets", "pytest", "libtrasmuon._distributed"]
if TORCH >= (2, 6):
    _PRELOADED += ["torch._dynamo", "torch.distributed.fsdp", "torch.distributed.checkpoint.state_dict"]
    _PRELOADED += ["libtrasmuon._distributed.sharded"]
_LONGEST = 300  # seconds that a test may take on a busy machine
_LONGEST_ALONE = 90  # after a rank has failed


class Rank(NamedTuple):
    """What a function on a rank is given."""

    rank: int
    count: int


def _context():
    # A server imports torch once and forks the ranks; it has done nothing with torch, unlike this process.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _work(function, rank, count, port, timeout, results, arguments):
    try:
        signal.alarm(_LONGEST)
        torch.set_num_threads(1)  # the tensors are tiny
        import libtrasmuon

        libtrasmuon.set_num_threads(1)
        # As torchrun does, whose store lives in another process too.
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank), GLOO_SOCKET_IFNAME="lo")
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE="True")
        os.environ.update(TORCHELASTIC_RESTART_COUNT="0")
        if timeout is not None:
            dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout))
        function(Rank(rank, count), *arguments)
        results.put((rank, ""))
    except BaseException:
        results.put((rank, traceback.format_exc()))


def run_ranks(count, function, *arguments, lost=(), timeout=30.0):
    """Runs function(rank, *arguments) on `count` ranks and expects all to return. Ranks in `lost` may die or stop; they
    are ended here. The function must be one that can be imported; with timeout None it makes the process group."""
    store = dist.TCPStore("127.0.0.1", 0, count, True, wait_for_workers=False)
    context = _context()
    results = context.SimpleQueue()
    processes = [
        context.Process(
            target=_work, args=(function, rank, count, store.port, timeout, results, arguments), daemon=True
        )
        for rank in range(count)
    ]
    for process in processes:
        process.start()
    try:
        outcome = {}
        expected = {rank for rank in range(count) if rank not in lost}
        end = time.monotonic() + _LONGEST
        while not expected <= set(outcome):
            ended = [rank for rank in expected - set(outcome) if processes[rank].exitcode is not None]
            if results.empty():
                assert not ended, f"ranks {ended} ended without a word"
                if time.monotonic() >= end:
                    break
                time.sleep(0.01)
                continue
            rank, failure = results.get()
            outcome[rank] = failure
            if failure:  # others may wait for it
                end = min(end, time.monotonic() + _LONGEST_ALONE)
        failures = [f"rank {rank} of {count}:\n{outcome[rank]}" for rank in sorted(expected) if outcome.get(rank)]
        failures += [f"rank {rank} of {count} does not end" for rank in sorted(expected - set(outcome))]
        assert not failures, "\n".join(failures)
    finally:
        for process in processes:
            process.join(0.01 if lost else 5)
            if process.exitcode is None:
                process.kill()
                process.join()


def error_of(kind, work):
    """The text of the error that work() must raise."""
    try:
        work()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__} was raised")
