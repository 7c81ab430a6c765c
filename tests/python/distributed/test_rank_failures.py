# SPDX-License-Identifier: Apache-2.0
"""Ranks that differ, die, stop or are slow: the others end with an error that says who and what."""
import datetime
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.distributed as dist
from conftest import TORCH
from nets import equal
from rank_nets import RULES, Net, backward
from rank_processes import error_of, run_ranks

import libtrasmuon
from libtrasmuon import Error, ExchangeError

TIMEOUT, PATIENCE = (8.0, 10.0)  # seconds: a busy machine must not be taken for a lost rank
LAYOUTS = ["replicated"] + (["sharded"] if TORCH >= (2, 6) else [])


# ---- Ranks that differ -------------------------------------------------------------------------------------------


def _differing(rank):
    odd = rank.rank == 2

    def refusal(tensors, **options):
        kind = options.pop("kind", libtrasmuon.Muon)
        return error_of(Error, lambda: kind(tensors, process_group=dist.group.WORLD, **options))

    def named(*shapes, dtype=torch.float32, names="abcd"):
        return [(name, torch.ones(shape, dtype=dtype).requires_grad_()) for name, shape in zip(names, shapes)]

    text = refusal(named((4, 4)), lr=0.2 if odd else 0.1)
    assert "Muon(): ranks 0 and 2 must agree" in text and "lr = 0.1" in text and "lr = 0.2" in text
    text = refusal(named((4, 4), dtype=torch.float64 if odd else torch.float32))
    assert "ranks 0 and 2 must agree" in text and "f64" in text and "f32" in text
    assert "[3, 4]" in refusal(named((3, 4), (4, 4)) if odd else named((4, 4), (3, 4)))
    assert "'b'" in refusal(named((4, 4), names="b" if odd else "a"))
    assert "ranks 0 and 2 must agree" in refusal(named((4, 4)) if odd else named((4, 4), (3, 4)))
    assert "bucket_bytes 7" in refusal(named((4, 4)), distributed={"bucket_bytes": 7 if odd else 8})
    assert "row_blocks" in refusal(named((4, 4)), layouts={"a": {"num_heads": 2 if odd else 1}})
    kind = libtrasmuon.NorMuon if odd else libtrasmuon.Muon
    assert "normuon" in refusal(named((4, 4)), kind=kind)
    # One rank refuses: all hear why, and which one it was.
    text = refusal(named((4, 4)), **({"momentum": 2.0} if odd else {}))
    assert "momentum must be" in text and (odd or "rank 2: " in text)
    # The group still works.
    backward(net := Net())
    optimizer = RULES["muon"](net, process_group=dist.group.WORLD)
    optimizer.step()
    # Loading: if one refuses, none changes.
    saved = RULES["muon"](Net()).state_dict()
    if odd:
        saved["param_groups"][0]["param_names"][0] = "other"
    before = [value.clone() for state in optimizer.state.values() for value in state.values()]
    text = error_of(Error, lambda: optimizer.load_state_dict(saved))
    assert "got 'other'" in text and (odd or "load_state_dict: rank 2: " in text)
    assert equal(before, [value for state in optimizer.state.values() for value in state.values()])


def test_ranks_that_differ_are_told_where():
    run_ranks(3, _differing)


def _refusing(rank):
    """One rank refuses its arguments before it has built anything: all hear why, at once."""
    world, odd = dist.group.WORLD, rank.rank == 1
    tensors = [torch.ones(4, 4).requires_grad_()]

    def refused(task, reason, work):
        text = error_of(Exception, work)
        assert reason in text and text.startswith(f"{task}: rank 1: ") != odd, text

    refused("Muon()", "empty parameter list", lambda: libtrasmuon.Muon([] if odd else tensors, process_group=world))
    refused("Muon()", "", lambda: libtrasmuon.Muon([3] if odd else tensors, process_group=world))
    options = {"adamw": 3} if odd else {}
    refused("Muon()", "not iterable", lambda: libtrasmuon.Muon(tensors, process_group=world, **options))
    options = {"distributed": {"wires": 1}} if odd else {}
    refused("Muon()", "unknown setting 'wires'", lambda: libtrasmuon.Muon(tensors, process_group=world, **options))
    options = {"device_mesh": 3} if odd else {}
    refused("Muon()", "must not both be given", lambda: libtrasmuon.Muon(tensors, process_group=world, **options))

    optimizer = libtrasmuon.Muon(tensors, process_group=world)
    saved = optimizer.state_dict()
    refused(
        "load_state_dict",
        "must be what state_dict() returns",
        lambda: optimizer.load_state_dict(None if odd else saved),
    )
    if TORCH >= (2, 1):

        def broken(optimizer, state_dict):
            raise KeyError("a hook")

        hook = optimizer.register_load_state_dict_pre_hook(broken) if odd else None
        refused("load_state_dict", "a hook", lambda: optimizer.load_state_dict(saved))
        if hook:
            hook.remove()
    group = {"params": [torch.ones(2, 2).requires_grad_()], **({"nothing": 1} if odd else {})}
    refused("add_param_group", "nothing", lambda: optimizer.add_param_group(group))
    refused("add_param_group", "must be a dict", lambda: optimizer.add_param_group([] if odd else dict(group)))
    refused(
        "consolidate_state_dict after step 0",
        "to must be a rank below 3",
        lambda: optimizer.consolidate_state_dict(to=3 if odd else 0),
    )
    # Nothing has changed.
    assert len(optimizer.param_groups) == 1 and len(optimizer.state) == 1
    tensors[0].grad = torch.eye(4)
    optimizer.step()
    optimizer.load_state_dict(saved)


def test_what_one_rank_refuses_at_once_is_told_to_all():
    run_ranks(3, _refusing, timeout=5.0)


def _refusing_shards(rank):
    from test_sharded import Shards

    shards, odd = Shards(), rank.rank == 1
    half = dist.new_group([1], use_local_synchronization=True) if odd else None
    for options, reason in (
        ({"distributed": {"wire": "f64"}}, "wire must be"),
        ({"process_group": half}, "must have the ranks over which"),
        ({"device_mesh": 3}, "must be a DeviceMesh"),
    ):
        text = error_of(Error, lambda: libtrasmuon.Muon(shards.named, **(options if odd else {})))
        assert reason in text and text.startswith("Muon(): rank 1: ") != odd, text
    libtrasmuon.Muon(shards.named)


@pytest.mark.skipif(TORCH < (2, 6), reason="torch 2.6 and later: fully_shard")
def test_what_one_rank_of_shards_refuses_at_once_is_told_to_all():
    run_ranks(2, _refusing_shards, timeout=5.0)


def _differing_shards(rank):
    from test_sharded import Shards

    odd = rank.rank == 1
    shards = Shards()
    text = error_of(Error, lambda: libtrasmuon.Muon(shards.named, lr=0.2 if odd else 0.1))
    assert "ranks 0 and 1 must agree" in text and "lr = 0.2" in text
    renamed = [("other" if odd and name == "experts" else name, tensor) for name, tensor in shards.named]
    assert "'other'" in error_of(Error, lambda: libtrasmuon.Muon(renamed))
    text = error_of(Error, lambda: libtrasmuon.Muon(shards.named, distributed={"wire": "f16" if odd else "f32"}))
    assert "wire f32" in text and "wire f16" in text
    # An error of one rank only, while the parameters are read.
    text = error_of(Error, lambda: libtrasmuon.Muon(shards.named, layouts={"nothing": {}} if odd else {}))
    assert "must match a parameter" in text


@pytest.mark.skipif(TORCH < (2, 6), reason="torch 2.6 and later: fully_shard")
def test_shards_that_differ_are_told_where():
    run_ranks(2, _differing_shards)


# ---- Ranks that are lost -----------------------------------------------------------------------------------------


def _at_exchange(number, action):
    """Lets this rank do something when it reaches an exchange."""
    from libtrasmuon._distributed.ranks import Ranks

    start, count = Ranks._start, 0

    def counted(self, *arguments):
        nonlocal count
        count += 1
        if count == number + 1:
            action()
        return start(self, *arguments)

    Ranks._start = counted


def _serve(rank, host):
    """Makes the process group with a store that rank `host` serves, as scripts do that are started without torchrun."""
    parent = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), rank.count, False)
    if rank.rank == host:
        store = dist.TCPStore("127.0.0.1", 0, rank.count, True, wait_for_workers=False)
        parent.set("port", str(store.port))
    else:
        store = dist.TCPStore("127.0.0.1", int(parent.get("port")), rank.count, False)
    dist.init_process_group("gloo", store=store, rank=rank.rank, world_size=rank.count)


def _lose(rank, layout, exchange, what, lost, host):
    """A rank is lost at some exchange of the third step. The store is that of rank `host`, or of another process."""
    options = {"patience": PATIENCE, "bucket_bytes": 600}
    if host is not None:
        _serve(rank, host)
    dist.barrier()
    group = dist.new_group(timeout=datetime.timedelta(seconds=TIMEOUT))
    if layout == "replicated":
        net = Net()
        tensors = list(net.parameters())
        optimizer = RULES["trasmuon"](net, process_group=group, distributed=options)
        new_gradients = lambda step: backward(net, step)
    else:
        from test_sharded import Shards
        from torch.distributed.device_mesh import DeviceMesh

        shards = Shards(mesh=DeviceMesh.from_group(group, "cpu"))
        tensors = [tensor for _, tensor in shards.named]
        optimizer = RULES["trasmuon"](shards.named, distributed=options)
        new_gradients = shards.pull

    def bits():
        found = tensors + [value for state in optimizer.state.values() for value in state.values()]
        return [getattr(tensor, "_local_tensor", tensor).detach().clone() for tensor in found]

    for step in range(2):
        new_gradients(step)
        optimizer.step()
    new_gradients(2)
    before = bits()
    here, other = rank.rank == lost, (lost + 1) % rank.count
    if "refuses" in what or what == "leaves":
        optimizer.param_groups[0]["lr"] = -1.0 if here else 0.01
    if what == "refuses, then killed":  # what was said then is not what happens now
        assert "lr must be" in error_of(Error, optimizer.step)
        optimizer.param_groups[0]["lr"] = 0.01
    if here and not what.endswith(("refuses", "leaves")):
        actions = {
            "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
            "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
            "slow": lambda: time.sleep(TIMEOUT + PATIENCE + 2),
        }
        _at_exchange(exchange, actions[what.split()[-1]])
    if what == "leaves":  # as on GPUs, where ranks do not vote
        optimizer._bound._votes = False
    begin = time.monotonic()
    together = what == "refuses" or (what == "leaves" and here)
    text = error_of(Error if together else ExchangeError, optimizer.step)
    assert optimizer.applied_steps == 2 and equal(bits(), before)
    if what == "refuses":
        assert "lr must be" in text and (here or text.startswith(f"step 3: rank {lost}: ")), text
        optimizer.param_groups[0]["lr"] = 0.01
        optimizer.step()  # nothing is broken
        assert optimizer.applied_steps == 3
        optimizer.param_groups[0]["lr"] = 0.02 if rank.rank == other else 0.01
        text = error_of(Error, optimizer.step)
        assert f"step 4: ranks 0 and {other or 1} must agree" in text and "lr = 0.02" in text, text
    elif not here:
        assert time.monotonic() - begin < TIMEOUT + PATIENCE + 3
        assert text.startswith("step 3: ") and f"failed on rank {rank.rank} of 3: " in text, text
        words = f"; no answer within {PATIENCE:g} s from rank {lost}"
        if what == "leaves":
            words = f"; rank {lost} has left: trasmuon: lr must be"
        if host == lost:
            words = "; the store does not answer, so the rank that serves it may be gone ("
        assert words in text and ("has left" in text) == (what == "leaves"), text
    if what == "leaves":
        dist.barrier()  # the others must find it alive


# Layout, exchange, what happens, to which rank, which rank serves the store.
CASES = [
    (layout, 0, *case, None)
    for layout in LAYOUTS
    for case in (("killed", 0), ("stopped", 1), ("slow", 2), ("refuses", 0), ("refuses, then killed", 2))
]
CASES += [(layout, 3, "killed", 1, None) for layout in LAYOUTS] + [("replicated", 0, "leaves", 2, None)]
CASES += [("replicated", 0, what, 0, 0) for what in ("killed", "stopped")]


def test_lost_ranks_are_named_and_nothing_has_changed():
    # At once: the ranks do nothing but wait.
    def run(case):
        lost = [case[3]] if case[2].endswith(("killed", "stopped")) else []
        run_ranks(3, _lose, *case, lost=lost, timeout=30.0 if case[4] is None else None)

    with ThreadPoolExecutor(len(CASES)) as pool:
        runs = {case: pool.submit(run, case) for case in CASES}
        failures = {case: run.exception() for case, run in runs.items() if run.exception() is not None}
    assert not failures, "\n".join(f"{case}: {failure}" for case, failure in failures.items())


def _reports(rank):
    """Failure reports of optimizers are told apart by optimizer and attempt."""
    optimizers = [libtrasmuon.Muon([torch.ones(2, 2)], process_group=dist.group.WORLD) for _ in range(2)]
    reports = [optimizer._bound._ranks.reports for optimizer in optimizers]
    keys = []
    for _ in range(2):
        for its in reports:
            its.begin("step 1")
            keys.append(its._key(0))
    assert len(set(keys)) == 4
    dist.all_gather_object(of_all := [None] * rank.count, keys)
    assert of_all == [keys] * rank.count


def test_reports_belong_to_one_attempt_of_one_optimizer():
    run_ranks(2, _reports)
