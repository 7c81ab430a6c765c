# SPDX-License-Identifier: Apache-2.0
"""Construction, options and errors of the optimizers."""
import pytest
import torch
from nets import equal, loss_of, mlp, train
from torch import nn

import libtrasmuon
from libtrasmuon import _options

ALL = [libtrasmuon.TrasMuon, libtrasmuon.NorMuon, libtrasmuon.Muon, libtrasmuon.Dion, libtrasmuon.AdamW]


@pytest.mark.parametrize("kind, lr", list(zip(ALL, [2e-2, 2e-2, 2e-2, 1e-2, 5e-3])))
def test_learns(kind, lr, device):
    model = mlp(device)
    optimizer = kind(model, lr=lr)
    before = loss_of(model).item()
    train(model, optimizer, 200)
    assert loss_of(model).item() < 0.2 * before


@pytest.mark.parametrize("rule", list(_options.RULES))
def test_types_and_library_have_the_same_options(rule):
    assert set(_options.default_options(rule)) == set(_options.RULES[rule].__annotations__) | {"lr"}
    for name, value in _options.default_options(rule).items():
        assert not isinstance(value, str) or _options.RULES[rule].__annotations__[name] is not float


def test_model_named_parameters_and_groups_are_the_same_steps():
    models = [mlp() for _ in range(3)]
    weights, rest = [], []
    for name, parameter in models[2].named_parameters():
        (weights if name in ("0.weight", "2.weight") else rest).append((name, parameter))
    optimizers = [
        libtrasmuon.TrasMuon(models[0], lr=0.01, adamw={"lr": 2e-3}),
        libtrasmuon.TrasMuon(models[1].named_parameters(), lr=0.01, adamw={"lr": 2e-3}),
        libtrasmuon.TrasMuon([{"params": weights, "lr": 0.01}, {"params": rest, "rule": "adamw", "lr": 2e-3}]),
    ]
    results = [train(model, optimizer, 20) for model, optimizer in zip(models, optimizers)]
    assert equal(results[0], results[1]) and equal(results[0], results[2])


def test_different_rules_in_one_optimizer():
    w = [torch.randn(8, 8).requires_grad_() for _ in range(4)]
    groups = [{"params": [t], "rule": rule} for t, rule in zip(w, ["trasmuon", "normuon", "muon", "dion"])]
    optimizer = libtrasmuon.TrasMuon([*groups, {"params": torch.zeros(3).requires_grad_(), "rule": "adamw"}], lr=0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.02, 0.02, 0.01, 0.001]
    assert "momentum" not in optimizer.param_groups[0] and "clip" not in optimizer.param_groups[4]


def test_options_reach_the_step():
    """With damping, row scale and calibration off, TrasMuon is Muon up to its step size."""
    a, b = (torch.ones(8, 8).requires_grad_() for _ in range(2))
    gradient = torch.randn(8, 8)
    trasmuon = libtrasmuon.TrasMuon(
        [a], lr=0.02, clip="none", row_scale=False, calibrate=False, weight_decay=0.0, eps=1e-7, nesterov=True
    )
    muon = libtrasmuon.Muon([b], lr=0.02)
    for optimizer, weight in ((trasmuon, a), (muon, b)):
        weight.grad = gradient.clone()
        optimizer.step()
    assert torch.allclose(a, b, atol=1e-6)


def test_presets():
    paper, released = (libtrasmuon.TrasMuon(mlp(), preset=preset) for preset in ("paper", "released"))
    assert paper.param_groups[0]["skip_nonfinite"] is False and paper.param_groups[1]["betas"] == (0.9, 0.95)
    assert released.param_groups[0]["rms_scale"] == 0.2 and released.param_groups[1]["betas"] == (0.95, 0.95)
    assert "4.weight" in released.param_groups[0]["param_names"]  # everything with two dimensions
    with pytest.raises(libtrasmuon.Error, match="preset must be one of default, paper, released, got 'fast'"):
        libtrasmuon.TrasMuon(mlp(), preset="fast")


def test_coefficients_as_numbers():
    a, b = (torch.ones(8, 8).requires_grad_() for _ in range(2))
    for weight, coefficients in ((a, "keller"), (b, [(3.4445, -4.7750, 2.0315)])):
        weight.grad = torch.arange(64.0).reshape(8, 8)
        libtrasmuon.Muon([weight], coefficients=coefficients).step()
    assert torch.equal(a, b)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda m: libtrasmuon.TrasMuon(m, alpha=-1), "trasmuon: alpha must be > 0, got -1"),
        (lambda m: libtrasmuon.TrasMuon(m, lr="fast"), "trasmuon: lr"),
        (lambda m: libtrasmuon.TrasMuon(m, weigth_decay=0.1), "trasmuon: unknown option 'weigth_decay', known: lr,"),
        (lambda m: libtrasmuon.TrasMuon(m, betas=0.9), "trasmuon: betas must be two numbers, got 0.9"),
        (lambda m: libtrasmuon.TrasMuon(m, betas=(0.9, 1)), "trasmuon: beta2 must be in [0, 1), got 1"),
        (lambda m: libtrasmuon.TrasMuon(m, adamw={"momentum": 1}), "adamw: unknown option 'momentum'"),
        (lambda m: libtrasmuon.TrasMuon(m.parameters()), "needs at least two dimensions, got shape [16]; build the"),
        (lambda m: libtrasmuon.TrasMuon([{"params": m[0].weight, "rule": "sgd"}]), "rule must be one of trasmuon"),
        (lambda m: libtrasmuon.TrasMuon([{"lr": 1}]), "group 0: has no 'params'"),
        (lambda m: libtrasmuon.TrasMuon(m, overrides={"9.*": "adamw"}), "override '9.*': must match a parameter"),
        (lambda m: libtrasmuon.TrasMuon(m, overrides={"*": "sgd"}), "family must be 'matrix' or 'adamw', got 'sgd'"),
        (lambda m: libtrasmuon.TrasMuon(m[0:1], overrides={"*": "adamw"}), "is left for the matrix rule"),
        (
            lambda m: libtrasmuon.Muon([m[0].weight.to(torch.complex64).detach().requires_grad_()]),
            "dtype must be float64, float32",
        ),
        (lambda m: libtrasmuon.TrasMuon([m[0].weight], overrides={"*": "adamw"}), "overrides and layouts need names"),
        (lambda m: libtrasmuon.AdamW(m.to("meta")), "must be on cpu or cuda, got device meta"),
        (lambda m: libtrasmuon.AdamW(m.requires_grad_(False)), "no parameter requires a gradient"),
        (lambda m: libtrasmuon.Muon([m[2].weight, m[2].weight.data.requires_grad_()]), "shares memory with"),
    ],
)
def test_errors_name_field_rule_and_value(make, text):
    with pytest.raises(libtrasmuon.Error) as caught:
        make(mlp())
    assert text in str(caught.value)


def test_wrong_types_are_refused():
    for params in (torch.zeros(2, 2), {torch.zeros(2, 2)}):
        with pytest.raises(TypeError):
            libtrasmuon.Muon(params)
    with pytest.raises(ValueError):
        libtrasmuon.Muon([])


def test_warns_about_weak_settings():
    with pytest.warns(UserWarning, match="rho 0.5 > 0.3 nearly switches damping off"):
        libtrasmuon.TrasMuon(mlp(), rho=0.5)


def test_master_weights_keep_small_updates(device):
    weight = torch.ones(8, 8, dtype=torch.bfloat16, device=device).requires_grad_()
    optimizer = libtrasmuon.AdamW([weight], lr=1e-4, weight_decay=0.0, master_weights=True)
    for _ in range(40):  # each update alone is below half a unit in the last place
        weight.grad = torch.ones_like(weight)
        optimizer.step()
    assert optimizer.state[weight]["master"].dtype is torch.float32
    assert weight.float().mean().item() == pytest.approx(0.996, abs=2e-3)


@torch.no_grad()
def _write_in_place(weight):
    weight.fill_(3.0)


def _write_new_memory(weight):
    weight.data = torch.full_like(weight, 3.0)


def _write_data(weight):
    weight.data.fill_(3.0)  # autograd does not count it


@pytest.mark.parametrize("write, is_seen", [(_write_in_place, True), (_write_new_memory, True), (_write_data, False)])
def test_weights_written_by_others_reach_the_masters(write, is_seen):
    model = nn.Linear(8, 8, bias=False).bfloat16()
    optimizer = libtrasmuon.Muon([model.weight], lr=1e-3, master_weights=True)
    model.weight.grad = torch.ones_like(model.weight)
    optimizer.step()
    write(model.weight)
    model.weight.grad = torch.zeros_like(model.weight)
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    assert (model.weight == 3).all() == is_seen  # docs/python.md tells what is not


@pytest.mark.parametrize("option", [{"lr": torch.ones(2)}, {"coefficients": 3}, {"weight_decay": None}])
def test_options_that_are_no_numbers_are_refused(option):
    with pytest.raises(libtrasmuon.Error, match=f"trasmuon: {list(option)[0]} must be a number or a text, got"):
        libtrasmuon.TrasMuon([torch.zeros(4, 4, requires_grad=True)], **option)
