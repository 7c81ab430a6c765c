# SPDX-License-Identifier: Apache-2.0
"""fork, DataLoader workers, threads."""
import multiprocessing
import threading

import torch
from nets import equal, mlp, train
from torch.utils.data import DataLoader, TensorDataset

import libtrasmuon
from libtrasmuon import TrasMuon


def _run(steps=10):
    torch.manual_seed(0)
    model = mlp()
    return train(model, TrasMuon(model, lr=5e-3), steps)


def _work(queue, weights):
    torch.set_num_threads(1)  # OpenMP's threads do not survive a fork
    same = equal([torch.tensor(values).reshape(p.shape) for values, p in zip(weights, _run())], _run())
    queue.put(same)


def test_a_forked_child_steps_with_the_same_bits():
    torch.set_num_threads(1)
    expected = [p.reshape(-1).tolist() for p in _run()]  # the parent has started its threads
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_work, args=(queue, expected))
    child.start()
    try:
        assert queue.get(timeout=60)
    finally:
        child.join(timeout=60)
    assert child.exitcode == 0


def test_data_loader_workers():
    data = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8, num_workers=2)
    model = mlp()
    optimizer = TrasMuon(model)
    for _ in range(2):
        for x, y in data:
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
    assert optimizer.state[model[2].weight]["step"].sum() == 16


def test_optimizers_in_several_threads_give_the_same_bits():
    expected, results = _run(), []
    libtrasmuon.set_num_threads(2)
    models = [mlp() for _ in range(4)]  # here: mlp() sets torch's seed, which threads share

    def work(model):
        results.append(train(model, TrasMuon(model, lr=5e-3), 10))

    threads = [threading.Thread(target=work, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(equal(expected, result) for result in results)


def test_number_of_threads():
    libtrasmuon.set_num_threads(1)
    assert libtrasmuon.get_num_threads() == 1
    libtrasmuon.set_num_threads(2)
    assert libtrasmuon.get_num_threads() == 2
