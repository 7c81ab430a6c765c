# SPDX-License-Identifier: Apache-2.0
"""What an optimizer tells about itself."""
from typing import TYPE_CHECKING, Any, Dict, List

from ._groups import group_table
from ._library import Error
from ._one_process import OneProcess

if TYPE_CHECKING:
    from ._distributed.owners import Ownership


class Insight:
    """Reports of an Optimizer, a part of that class."""

    param_groups: List[Dict[str, Any]]
    _settings: Dict[str, Any]
    _groups: Any
    _spread: Any
    _bound: Any

    def table(self) -> str:
        """Parameters with rule, shape and layout, one per line."""
        self._groups.carry_names(self.param_groups)
        return group_table(self.param_groups)

    def diagnostics(self) -> Dict[str, List[Dict[str, float]]]:
        """What the last step did, by parameter: one entry per matrix with step, skipped, updated, r_max, r_q95, c_min,
        c_mean, damped_share, update_rms, eta_hat, isometry_error. Needs diagnostics=True. Waits for the GPU."""
        if not self._settings["diagnostics"]:
            raise Error("diagnostics: build the optimizer with diagnostics=True")
        return {p.name: self._bound.diagnostics(index) for index, p in enumerate(self._bound.parameters)}

    def warnings(self) -> List[str]:
        """Settings that are allowed but known to work badly."""
        return self._bound.warnings()

    def state_bytes(self) -> int:
        """Size of the state."""
        return self._bound.state_bytes()

    def workspace_bytes(self) -> int:
        """Size of the scratch memory that is held now."""
        return self._bound.workspace_bytes()

    def ownership(self) -> "Ownership":
        """Over ranks: who steps which parameter (replicated; -1: every rank) or orthogonalizes which matrix (sharded),
        how even that is, and how many ranks are idle meanwhile."""
        if isinstance(self._spread, OneProcess):
            raise Error("ownership: this optimizer is not spread over ranks")
        return self._bound.ownership()
