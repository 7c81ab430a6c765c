# SPDX-License-Identifier: Apache-2.0
"""Which parameter takes which rule, and as which matrices."""
import sys
import types
import warnings

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
        ({"split_sizes": 2.5}, "layout 'qkv.weight': split_sizes must be a whole number or several, got 2.5"),
        ({"split_sizes": (12.0, 20.0)}, "split_sizes must be a whole number or several, got (12.0, 20.0)"),
        ({"split_sizes": True}, "split_sizes must be a whole number or several, got True"),
        ({"num_heads": "4"}, "num_heads must be a whole number or several, got '4'"),
        ({"num_heads": {4}}, "num_heads must be a whole number or several, got {4}"),
        ({"split_sizes": (40, -8)}, "split_sizes must be > 0, got (40, -8)"),
        ({"transposed": "no"}, "layout 'qkv.weight': transposed must be True or False, got 'no'"),
        ({"transposed": 1}, "transposed must be True or False, got 1"),
        (3, "layout 'qkv.weight': must be a Layout or a dict of its fields, got 3"),
    ],
)
def test_layout_errors(layout, text):
    with pytest.raises(libtrasmuon.Error) as caught:
        TrasMuon(nn.ModuleDict({"qkv": nn.Linear(12, 32)}), layouts={"qkv.weight": layout})
    assert text in str(caught.value)
    with pytest.raises(libtrasmuon.Error, match="must match a parameter"):
        TrasMuon(mlp(), layouts={"qkv": {}})


class _Count:
    """A whole number of another library, as NumPy's are."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def test_whole_numbers_of_other_libraries_are_layouts():
    weight = torch.zeros(24, 8)
    plain = Layout(split_sizes=(16, 8), num_heads=(2, 1)).row_blocks(weight)
    assert Layout(split_sizes=[_Count(16), _Count(8)], num_heads=torch.tensor([2, 1])).row_blocks(weight) == plain
    assert Layout(split_sizes=_Count(3), num_heads=torch.tensor(2)).row_blocks(weight) == [4] * 6
    with pytest.raises(
        libtrasmuon.Error, match="group 0: layout of 'group0.0': num_heads must be a whole number or several, got 1.5"
    ):
        Muon([{"params": [weight.requires_grad_()], "layouts": [Layout(num_heads=1.5)]}])


@pytest.mark.parametrize(
    "make",
    [
        lambda w, v: [("a", w), v],
        lambda w, v: [w, ("a", v)],
        lambda w, v: [{"params": [("a", w), v]}],
        lambda w, v: [{"params": [w, ("a", v)]}],
    ],
)
def test_all_parameters_have_names_or_none(make):
    w, v = torch.zeros(4, 4, requires_grad=True), torch.zeros(2, 4, requires_grad=True)
    with pytest.raises(libtrasmuon.Error, match="all parameters must have names, or none"):
        TrasMuon(make(w, v))


def test_groups_are_not_mixed_with_tensors():
    w = torch.zeros(4, 4, requires_grad=True)
    for items in ([{"params": [w]}, w], [w, {"params": [w]}], [("a", w), {"params": [w]}]):
        with pytest.raises(
            libtrasmuon.Error, match="params: must be groups, or tensors, or named parameters, not mixed"
        ):
            TrasMuon(items)


@pytest.mark.parametrize("entry, size", [("param_names", 2), ("layouts", 2), ("layouts", 0)])
def test_names_and_layouts_of_a_group_are_one_for_each_parameter(entry, size):
    w = torch.zeros(4, 4, requires_grad=True)
    values = {"param_names": ["a", "b"], "layouts": [Layout(), Layout()]}[entry][:size]
    with pytest.raises(
        libtrasmuon.Error, match=f"group 0: {entry} must have one entry for each of 1 parameters, got {size}"
    ):
        Muon([{"params": [w], entry: values}])


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


def test_named_parameters_of_wrapped_models_have_plain_names():
    model = mlp()
    wrapped = nn.DataParallel(model)
    assert rules(TrasMuon(wrapped.named_parameters())) == rules(TrasMuon(model))
    names, parameters = zip(*wrapped.named_parameters())
    groups = [{"params": list(zip(names[:1], parameters[:1]))}, {"params": model[0].bias, "rule": "adamw"}]
    assert list(rules(TrasMuon(groups))) == ["0.weight", "group1.0"]
    optimizer = TrasMuon(groups)
    optimizer.add_param_group({"params": list(zip(names[2:3], parameters[2:3]))})
    assert list(rules(optimizer)) == ["0.weight", "group1.0", "2.weight"]


def test_a_part_that_is_called_module_keeps_its_name():
    model = nn.ModuleDict({"module": nn.Linear(4, 4, bias=False), "head": nn.Linear(4, 4, bias=False)})
    assert list(rules(Muon(model.named_parameters(), overrides={"*": "matrix"}))) == ["module.weight", "head.weight"]
    groups = [{"params": list(model[name].named_parameters(name))} for name in model]
    assert list(rules(Muon(groups))) == ["module.weight", "head.weight"]


@pytest.mark.parametrize("grouped", [False, True])
def test_names_do_not_tell_what_three_dimensions_are(grouped):
    named = [("conv.weight", torch.randn(8, 8, 3).requires_grad_()), ("linear.weight", torch.eye(8).requires_grad_())]
    wrap = (lambda pairs: [{"params": pairs}]) if grouped else (lambda pairs: pairs)
    with pytest.warns(UserWarning, match=r"conv.weight is read as a batch of matrices .*\"kind\": \"flatten\""):
        Muon(wrap(named))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for layout in (Layout(kind="flatten"), Layout(kind="batch")):
            if grouped:
                Muon([{"params": named[:1], "kind": layout.kind}])
            else:
                Muon(named, layouts={"conv.weight": layout})
        Muon(nn.Sequential(nn.Conv1d(8, 8, 3)))
        Muon([named[0][1]])
        libtrasmuon.AdamW(named)
        TrasMuon(named, preset="released")  # AdamW's there


def test_tied_weights_are_stepped_once():
    ours, plain = (nn.Sequential(nn.Linear(6, 6, bias=False), nn.Linear(6, 6, bias=False)) for _ in range(2))
    plain[0].weight.data.copy_(ours[0].weight)
    ours[1].weight = ours[0].weight
    x = torch.randn(5, 6)
    ours(x).square().sum().backward()
    plain[0].weight.grad = ours[0].weight.grad.clone()  # of both uses
    pairs = [("a", ours[0].weight), ("b", ours[1].weight)]
    start = ours[0].weight.detach().clone()
    Muon([plain[0].weight]).step()
    for kind, source in ((Muon, ours), (Muon, pairs)):
        ours[0].weight.data.copy_(start)
        optimizer = kind(source)
        optimizer.step()
        assert sum(len(group["params"]) for group in optimizer.param_groups) == 1
        assert torch.equal(ours[0].weight, plain[0].weight) and not torch.equal(ours[0].weight, start)
        assert optimizer.state[ours[1].weight]["step"].item() == 1


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
