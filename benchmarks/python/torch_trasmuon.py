# SPDX-License-Identifier: Apache-2.0
"""TrasMuon written with torch operations in the plain way, matrix by matrix: the peer of our step."""
import torch

_A, _B, _C = 3.4445, -4.7750, 2.0315


def _newton_schulz(x, dtype):
    x = x.to(dtype)
    if tall := x.size(0) > x.size(1):
        x = x.mT
    for _ in range(5):
        gram = x @ x.mT
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.mT if tall else x


def update(w, g, m, v, c_ema, c_last, c_sum, e_ref, gamma_sum, lr, bias, dtype):
    """One step of one matrix, in place; Newton-Schulz in dtype."""
    m.lerp_(g, 0.05)
    u = g.lerp(m, 0.95)  # Nesterov's look-ahead
    o = _newton_schulz(u / (u.norm() + 1e-8), dtype).float()
    v.lerp_(o.square().mean(1), 0.05)
    o = o / (v + 1e-8).sqrt().unsqueeze(1)
    eta = 0.2 * lr * o.numel() ** 0.5 / (o.norm() + 1e-8)
    energy = m.square().sum(0)
    e_ref.lerp_(energy.median(), 0.05)
    r = energy / (e_ref / bias)
    gamma_sum.add_(lr * lr)
    c_sum.add_(c_last, alpha=lr * lr)
    inst = torch.where(r > 2, (1 / (1 + torch.log1p(r))).clamp(0.1, 1), 1.0)
    c_ema.lerp_(inst, 0.5)
    c_last.copy_((0.9 * c_ema + 0.1 * c_sum / gamma_sum).clamp(0.1, 1))
    w.mul_(1 - lr * 0.01).sub_(eta * o * c_last)


class TorchTrasMuon:
    def __init__(self, parameters, compiled=False, dtype=torch.bfloat16):
        self.parameters, self.dtype, self.t = parameters, dtype, 0
        self.update = torch.compile(update) if compiled else update
        zeros = lambda p, n: torch.zeros(n, device=p.device)
        self.state = [(torch.zeros_like(p, dtype=torch.float32), zeros(p, p.size(0)), zeros(p, p.size(1)) + 1,
                       zeros(p, p.size(1)) + 1, zeros(p, p.size(1)), zeros(p, ()), zeros(p, ())) for p in parameters]

    @torch.no_grad()
    def step(self):
        self.t += 1
        for p, state in zip(self.parameters, self.state):
            self.update(p, p.grad, *state, 0.02, 1 - 0.95**self.t, self.dtype)
