# SPDX-License-Identifier: Apache-2.0
"""What is special about GPUs: streams, graphs, several devices, no host sync."""
import pytest
import torch
from conftest import needs_torch
from nets import equal, loss_of, mlp, train

from libtrasmuon import AdamW, Dion, Muon, NorMuon, TrasMuon

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("kind", [TrasMuon, NorMuon, Muon, Dion, AdamW])
def test_equals_the_cpu(kind):
    options = {} if kind in (Dion, AdamW) else {"ns_precision": "f32"}
    models = [mlp("cpu"), mlp("cuda")]
    results = [train(model, kind(model, lr=5e-3, **options), 20) for model in models]
    assert all(torch.allclose(p, q.cpu(), atol=2e-3) for p, q in zip(*results))


def test_a_step_on_another_stream_waits_for_nothing_else():
    model, other = mlp("cuda"), mlp("cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        ours = train(model, TrasMuon(model), 5)
    torch.cuda.current_stream().wait_stream(stream)
    assert equal(ours, train(other, TrasMuon(other), 5))


def test_a_step_does_not_wait_for_the_gpu():
    model = mlp("cuda")
    optimizer = TrasMuon(model)
    train(model, optimizer, 2)
    loss_of(model).backward()
    found_inf, scale = torch.zeros((), device="cuda"), torch.full((), 2.0, device="cuda")
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")  # torch's own calls; the library's are checked in tests/cuda
    try:
        optimizer.found_inf, optimizer.grad_scale = found_inf, scale
        optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
        del optimizer.found_inf, optimizer.grad_scale


def test_step_in_a_cuda_graph():
    model, other = mlp("cuda"), mlp("cuda")
    optimizer, plain = TrasMuon(model), TrasMuon(other)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            loss_of(model).backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    gradients = [torch.randn_like(p) for p in model.parameters()]
    for p, gradient in zip(model.parameters(), gradients):
        p.grad.copy_(gradient)
    with torch.cuda.graph(graph):
        optimizer.step()
    other.load_state_dict(model.state_dict())
    plain.load_state_dict(optimizer.state_dict())
    for rate in (1e-3, 5e-4):
        optimizer.param_groups[0]["lr"] = plain.param_groups[0]["lr"] = rate
        optimizer.refresh_recorded()
        graph.replay()
        for p, gradient in zip(other.parameters(), gradients):
            p.grad = gradient.clone()
        plain.step()
        assert equal(list(model.parameters()), list(other.parameters()))


def test_a_whole_training_step_in_a_cuda_graph():
    model, other = mlp("cuda"), mlp("cuda")
    optimizer, plain = TrasMuon(model, lr=5e-3), TrasMuon(other, lr=5e-3)
    batches = torch.randn(8, 32, 4, device="cuda")
    x = batches[0].clone()

    def train_step(net, its, inputs):
        its.zero_grad(set_to_none=True)
        loss = (net(inputs) - inputs.sum(1, keepdim=True).sin()).square().mean()
        loss.backward()
        its.step()
        return loss

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            train_step(model, optimizer, x)
    torch.cuda.current_stream().wait_stream(stream)
    for _ in range(3):
        train_step(other, plain, x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train_step(model, optimizer, x)
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        expected = train_step(other, plain, batch)
        assert torch.allclose(loss, expected, rtol=1e-3)
    assert all(torch.allclose(p, q, atol=1e-4) for p, q in zip(model.parameters(), other.parameters()))
    assert optimizer.state[model[2].weight]["step"].item() == 3 + len(batches)


def test_parameters_on_the_cpu_and_on_the_gpu():
    both = torch.nn.ModuleList([torch.nn.Linear(8, 8), torch.nn.Linear(8, 8).cuda()])
    optimizer = TrasMuon(both)
    for p in both.parameters():
        p.grad = torch.ones_like(p)
    before = [p.detach().clone() for p in both.parameters()]
    optimizer.step()
    assert not any(torch.equal(p, q) for p, q in zip(before, both.parameters()))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_several_gpus():
    models = [mlp(f"cuda:{i}") for i in range(2)]
    optimizer = TrasMuon(torch.nn.ModuleList(models))
    for _ in range(5):
        optimizer.zero_grad()
        for model in models:
            loss_of(model).backward()
        optimizer.step()
    assert equal(list(models[0].parameters()), list(models[1].parameters()))
