# SPDX-License-Identifier: Apache-2.0
"""The five optimizers. All take a model, its named_parameters(), tensors, or groups with rules of their own."""
from typing import TYPE_CHECKING, Any, Mapping, Optional

from ._groups import Params
from ._optimizer import Optimizer
from ._options import AdamWOptions, DionOptions, MuonOptions, NorMuonOptions, Number, TrasMuonOptions
from ._routing import Layouts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._distributed import DistributedOptions


def _with_lr(lr: Optional[Number], options: Mapping[str, Any]) -> Mapping[str, Any]:
    return options if lr is None else {"lr": lr, **options}


class TrasMuon(Optimizer):
    """TrasMuon: Muon with row scaling, a calibrated step size and damping of bursting columns.

    params: a model or named parameters, whose hidden matrices take this rule and the rest AdamW (classify() shows the
        table); or tensors; or groups such as {"params": ..., "rule": "adamw", "lr": 1e-3}.
    lr: before damping an update has an RMS of rms_scale times this.
    adamw: options of AdamW for the rest: {"lr": 1e-3}.
    overrides: {"*.router.weight": "adamw"} or "matrix"; patterns match whole names, the last one wins.
    layouts: {"*.qkv.weight": {"split_sizes": 3, "num_heads": 12}}, see Layout.
    preset: "default", "paper" (Algorithm 1 without guards) or "released" (the authors' package, whose AdamW and routing
        come with it; see libtrasmuon.released).
    master_weights: keep f32 copies of bf16 and f16 weights in the state.
    diagnostics: let diagnostics() tell what each step did.
    process_group, device_mesh: spread the work over these ranks, which all have the same weights and gradients (DDP).
        Ranks of parameters that are DTensors (FSDP2) are found without them.
    distributed: {"wire": "f32", "bucket_bytes": 25 << 20, "patience": 10}, see docs/distributed.md.
    options: see describe("trasmuon").

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> optimizer = TrasMuon(model, lr=3e-3, adamw={"lr": 1e-3}, c_min=0.2)
    >>> model(torch.randn(16, 4)).square().mean().backward()
    >>> optimizer.step()
    >>> [(group["rule"], group["param_names"]) for group in optimizer.param_groups]
    [('trasmuon', ['0.weight']), ('adamw', ['0.bias', '2.weight', '2.bias'])]
    """

    rule = "trasmuon"

    def __init__(
        self,
        params: Params,
        lr: Optional[Number] = None,
        *,
        adamw: Optional[Mapping[str, Any]] = None,
        overrides: Optional[Mapping[str, str]] = None,
        layouts: Optional[Layouts] = None,
        preset: str = "default",
        master_weights: bool = False,
        diagnostics: bool = False,
        process_group: Any = None,
        device_mesh: Any = None,
        distributed: "Optional[DistributedOptions]" = None,
        **options: "Unpack[TrasMuonOptions]",
    ) -> None:
        super().__init__(
            params,
            _with_lr(lr, options),
            adamw=adamw,
            overrides=overrides,
            layouts=layouts,
            preset=preset,
            master_weights=master_weights,
            diagnostics=diagnostics,
            process_group=process_group,
            device_mesh=device_mesh,
            distributed=distributed,
        )


class NorMuon(Optimizer):
    """NorMuon: Muon with row scaling. Arguments as for TrasMuon; options: describe("normuon").

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> optimizer = NorMuon(model, lr=0.01, betas=(0.95, 0.9), adamw={"lr": 1e-3})
    >>> model(torch.randn(16, 4)).square().mean().backward()
    >>> optimizer.step()
    >>> sorted(optimizer.state[model[0].weight])
    ['momentum', 'skipped', 'step', 'v_row']
    """

    rule = "normuon"

    def __init__(
        self,
        params: Params,
        lr: Optional[Number] = None,
        *,
        adamw: Optional[Mapping[str, Any]] = None,
        overrides: Optional[Mapping[str, str]] = None,
        layouts: Optional[Layouts] = None,
        master_weights: bool = False,
        diagnostics: bool = False,
        process_group: Any = None,
        device_mesh: Any = None,
        distributed: "Optional[DistributedOptions]" = None,
        **options: "Unpack[NorMuonOptions]",
    ) -> None:
        super().__init__(
            params,
            _with_lr(lr, options),
            adamw=adamw,
            overrides=overrides,
            layouts=layouts,
            master_weights=master_weights,
            diagnostics=diagnostics,
            process_group=process_group,
            device_mesh=device_mesh,
            distributed=distributed,
        )


class Muon(Optimizer):
    """Muon: orthogonalized momentum. Arguments as for TrasMuon; options: describe("muon").

    >>> import torch
    >>> weight = torch.zeros(8, 8, requires_grad=True)
    >>> optimizer = Muon([weight], lr=0.02, scaling="match_rms_adamw", weight_decay=0.1)
    >>> (weight - torch.eye(8)).square().sum().backward()
    >>> optimizer.step()
    >>> bool(weight.diagonal().min() > 0)
    True
    """

    rule = "muon"

    def __init__(
        self,
        params: Params,
        lr: Optional[Number] = None,
        *,
        adamw: Optional[Mapping[str, Any]] = None,
        overrides: Optional[Mapping[str, str]] = None,
        layouts: Optional[Layouts] = None,
        master_weights: bool = False,
        diagnostics: bool = False,
        process_group: Any = None,
        device_mesh: Any = None,
        distributed: "Optional[DistributedOptions]" = None,
        **options: "Unpack[MuonOptions]",
    ) -> None:
        super().__init__(
            params,
            _with_lr(lr, options),
            adamw=adamw,
            overrides=overrides,
            layouts=layouts,
            master_weights=master_weights,
            diagnostics=diagnostics,
            process_group=process_group,
            device_mesh=device_mesh,
            distributed=distributed,
        )


class Dion(Optimizer):
    """Dion: orthonormalized updates of low rank with error feedback. Arguments as for TrasMuon; options:
    describe("dion").

    >>> import torch
    >>> weight = torch.zeros(16, 8, requires_grad=True)
    >>> optimizer = Dion([weight], lr=0.01, rank_fraction=0.25)
    >>> weight.grad = torch.randn(16, 8)
    >>> optimizer.step()
    >>> int(torch.linalg.matrix_rank(weight.detach()))  # a quarter of 8
    2
    """

    rule = "dion"

    def __init__(
        self,
        params: Params,
        lr: Optional[Number] = None,
        *,
        adamw: Optional[Mapping[str, Any]] = None,
        overrides: Optional[Mapping[str, str]] = None,
        layouts: Optional[Layouts] = None,
        master_weights: bool = False,
        diagnostics: bool = False,
        process_group: Any = None,
        device_mesh: Any = None,
        distributed: "Optional[DistributedOptions]" = None,
        **options: "Unpack[DionOptions]",
    ) -> None:
        super().__init__(
            params,
            _with_lr(lr, options),
            adamw=adamw,
            overrides=overrides,
            layouts=layouts,
            master_weights=master_weights,
            diagnostics=diagnostics,
            process_group=process_group,
            device_mesh=device_mesh,
            distributed=distributed,
        )


class AdamW(Optimizer):
    """AdamW for all parameters. Options: describe("adamw"); beta2 is 0.95 unless you set it, torch's is 0.999.

    >>> import torch
    >>> model = torch.nn.Linear(4, 2)
    >>> optimizer = AdamW([{"params": [model.weight]}, {"params": [model.bias], "weight_decay": 0.0}], lr=1e-3)
    >>> model(torch.randn(16, 4)).square().mean().backward()
    >>> optimizer.step()
    """

    rule = "adamw"

    def __init__(
        self,
        params: Params,
        lr: Optional[Number] = None,
        *,
        master_weights: bool = False,
        diagnostics: bool = False,
        process_group: Any = None,
        device_mesh: Any = None,
        distributed: "Optional[DistributedOptions]" = None,
        **options: "Unpack[AdamWOptions]",
    ) -> None:
        super().__init__(
            params,
            _with_lr(lr, options),
            master_weights=master_weights,
            diagnostics=diagnostics,
            process_group=process_group,
            device_mesh=device_mesh,
            distributed=distributed,
        )
