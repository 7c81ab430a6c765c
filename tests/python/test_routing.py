# SPDX-License-Identifier: Apache-2.0
"""Which parameter takes which rule, and as which matrices."""
import sys
import types

import pytest
import torch
from conftest import needs_torch
from nets import equal, mlp
from torch import nn

import libtrasmuon
from libtrasmuon import Layout, Muon, TrasMuon, classify


class Transformer(nn.Module):
    def __init__(self, tied=True):
        super().__init__()
        self.lookup = nn.Embedding(11, 8)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(2)])
        self.norm = nn.LayerNorm(8)
        self.lm_head = nn.Linear(8, 11, bias=False)
        if tied:
            self.lm_head.weight = self.lookup.weight

    def forward(self, x):
        x = self.lookup(x)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.norm(x))


def rules(optimizer):
    return {n: g["rule"] for g in optimizer.param_groups for n in g["param_names"]}


def layouts(optimizer):
    groups = optimizer.param_groups
    return {n: l.text(p) for g in groups for n, p, l in zip(g["param_names"], g["params"], g["layouts"])}


def test_transformer():
    optimizer = Muon(Transformer())
    found = rules(optimizer)
    matrices = {name for name, rule in found.items() if rule == "muon"}
    wanted = ["self_attn.in_proj_weight", "self_attn.out_proj.weight", "linear1.weight", "linear2.weight"]
    assert matrices == {f"blocks.{i}.{name}" for i in range(2) for name in wanted}
    assert found["lookup.weight"] == "adamw" and "lm_head.weight" not in found  # tied: listed once
    assert layouts(optimizer)["blocks.0.self_attn.in_proj_weight"] == "automatic 8 8 8"
    assert "blocks.0.linear1.weight" in optimizer.table()


def test_in_proj_weight_is_three_matrices():
    model = nn.MultiheadAttention(8, 2, bias=False)
    whole = model.in_proj_weight.detach().clone()
    parts = [part.clone().requires_grad_() for part in whole.chunk(3)]
    fused, split = Muon(model.named_parameters()), Muon(parts)
    model.in_proj_weight.grad = torch.randn(24, 8)
    for part, gradient in zip(parts, model.in_proj_weight.grad.chunk(3)):
        part.grad = gradient
    fused.step()
    split.step()
    assert torch.equal(model.in_proj_weight, torch.cat(parts))


def test_heads_of_fused_projections():
    layout = Layout(split_sizes=(16, 8, 8), num_heads=(4, 2, 2))
    weight = torch.zeros(32, 12)
    assert layout.row_blocks(weight) == [4] * 8
    assert Layout(num_heads=4).row_blocks(weight) == [8] * 4
    assert Layout(split_sizes=2, num_heads=2, transposed=True).row_blocks(weight) == [3] * 4
    model = nn.ModuleDict({"qkv": nn.Linear(12, 32, bias=False)})
    by_pattern = TrasMuon(model, layouts={"*qkv*": {"split_sizes": (16, 8, 8), "num_heads": (4, 2, 2)}})
    by_group = TrasMuon([{"params": model.named_parameters(), "split_sizes": (16, 8, 8), "num_heads": (4, 2, 2)}])
    assert layouts(by_pattern) == layouts(by_group) == {"qkv.weight": "automatic 4 4 4 4 4 4 4 4"}


@pytest.mark.parametrize(
    "layout, text",
    [
        ({"split_sizes": (16, 8)}, "split_sizes must sum to the 32 output rows, got [16, 8]"),
        ({"split_sizes": 5}, "split_sizes must divide the 32 rows, got 5"),
        ({"num_heads": 3}, "num_heads must divide the 32 rows, got 3"),
        ({"split_sizes": 2, "num_heads": (1, 1, 1)}, "one for each of 2 parts, got [1, 1, 1]"),
        ({"heads": 3}, "unknown layout field 'heads', known: split_sizes"),
        ({"kind": "rows"}, "kind must be one of automatic, batch, flatten, got 'rows'"),
        ({"kind": "batch"}, "layout batch needs three dimensions"),
    ],
)
def test_layout_errors(layout, text):
    with pytest.raises(libtrasmuon.Error) as caught:
        TrasMuon(nn.ModuleDict({"qkv": nn.Linear(12, 32)}), layouts={"qkv.weight": layout})
    assert text in str(caught.value)
    with pytest.raises(libtrasmuon.Error, match="must match a parameter"):
        TrasMuon(mlp(), layouts={"qkv": {}})


def test_conv1d_of_transformers_is_transposed():
    module = types.ModuleType("transformers.pytorch_utils")
    source = "class Conv1D(nn.Module):\n def __init__(self):\n  super().__init__()\n  self.weight = nn.Parameter(w)\n"
    weight = torch.randn(8, 24)
    exec(source, {"nn": nn, "w": weight.clone(), "__name__": "transformers.pytorch_utils"}, module.__dict__)
    model = nn.Sequential(module.Conv1D())
    assert "transformers" not in sys.modules  # a class of that name and module, without the package
    plain = weight.t().contiguous().requires_grad_()
    ours, other = TrasMuon(model), TrasMuon([plain])
    assert layouts(ours) == {"0.weight": "automatic transposed"}
    gradient = torch.randn(8, 24)
    model[0].weight.grad, plain.grad = gradient, gradient.t().contiguous()
    ours.step()
    other.step()
    assert torch.allclose(model[0].weight, plain.t(), atol=1e-6)


def test_experts_are_matrices_of_their_own():
    experts = torch.randn(3, 8, 6).requires_grad_()
    single = [expert.clone().detach().requires_grad_() for expert in experts]
    experts.grad = torch.randn(3, 8, 6)
    for one, gradient in zip(single, experts.grad):
        one.grad = gradient.clone()
    Muon([experts]).step()
    Muon(single).step()
    assert torch.equal(experts, torch.stack(single))


@pytest.mark.parametrize("make", [nn.Conv1d, nn.Conv2d, nn.Conv3d])
def test_convolutions_are_flattened(make):
    model = nn.Sequential(make(8, 8, 3))
    flat = model[0].weight.detach().reshape(8, -1).clone().requires_grad_()
    model[0].weight.grad = torch.randn_like(model[0].weight)
    flat.grad = model[0].weight.grad.reshape(8, -1)
    Muon(model).step()
    Muon([flat]).step()
    assert torch.equal(model[0].weight.reshape(8, -1), flat)


def test_pointwise_conv1d_is_a_matrix_and_transposed_convolutions_are_transposed():
    model = nn.Sequential(nn.Conv1d(8, 8, 1), nn.ConvTranspose2d(8, 6, 2))
    optimizer = Muon(model)
    assert rules(optimizer)["0.weight"] == "muon"
    assert layouts(optimizer)["1.weight"] == "flatten transposed"


def test_channels_last_is_the_same_step():
    plain, last = (nn.Sequential(nn.Conv2d(8, 8, 3, bias=False)) for _ in range(2))
    last.load_state_dict(plain.state_dict())
    last = last.to(memory_format=torch.channels_last)
    first, second = TrasMuon(plain, master_weights=True), TrasMuon(last)
    for step in range(3):
        gradient = torch.randn(8, 8, 3, 3)
        plain[0].weight.grad = gradient.clone()
        memory_format = torch.channels_last if step % 2 else torch.contiguous_format
        last[0].weight.grad = gradient.clone(memory_format=memory_format)
        first.step()
        second.step()
    assert torch.allclose(plain[0].weight, last[0].weight, atol=1e-6)
    assert not last[0].weight.is_contiguous()


def test_overrides_and_table():
    model = mlp()
    optimizer = TrasMuon(model, overrides={"*.weight": "adamw", "2.*t": "matrix"})
    assert rules(optimizer)["0.weight"] == "adamw" and rules(optimizer)["2.weight"] == "trasmuon"
    assert "override 2.*t" in classify(model, {"2.*t": "matrix"})
    with pytest.raises(libtrasmuon.Error, match="needs at least two dimensions"):
        classify(model, {"0.bias": "matrix"})


@needs_torch(2, 0, "torch.compile")
def test_wrapped_models_have_plain_names():
    model = mlp()
    compiled = torch.compile(model)
    assert rules(TrasMuon(compiled)) == rules(TrasMuon(model))
    assert rules(TrasMuon(compiled.named_parameters())) == rules(TrasMuon(model))


def test_data_parallel_has_plain_names():
    model = mlp()
    assert rules(TrasMuon(nn.DataParallel(model))) == rules(TrasMuon(model))


def test_tied_weights_are_stepped_once():
    model = nn.Sequential(nn.Linear(6, 6, bias=False), nn.Linear(6, 6, bias=False))
    model[1].weight = model[0].weight
    pairs = [("a", model[0].weight), ("b", model[1].weight)]
    for optimizer in (Muon(model), Muon(pairs)):
        assert sum(len(group["params"]) for group in optimizer.param_groups) == 1


def test_equal_to_training_without_names():
    model, other = (nn.Sequential(nn.Linear(4, 8, bias=False), nn.Linear(8, 4, bias=False)) for _ in range(2))
    other.load_state_dict(model.state_dict())

    def run(net, optimizer):
        for step in range(5):
            for i, p in enumerate(net.parameters()):
                p.grad = torch.full_like(p, 0.1) + torch.arange(p.numel()).reshape(p.shape) * (step + i)
            optimizer.step()
        return [p.detach() for p in net.parameters()]

    assert equal(run(model, Muon(model)), run(other, Muon(other.parameters())))


def test_empty_parameters_are_left_out_and_lazy_ones_refused():
    model = nn.ModuleDict({"linear": nn.Linear(4, 4), "none": nn.Embedding(0, 4)})
    optimizer = TrasMuon(model)
    assert [group["param_names"] for group in optimizer.param_groups] == [["linear.weight"], ["linear.bias"]]
    with pytest.raises(libtrasmuon.Error, match="parameter '0.weight': has no shape yet; build the optimizer after"):
        TrasMuon(nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 4)))
