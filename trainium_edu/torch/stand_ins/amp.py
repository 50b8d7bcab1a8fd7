"""``torch_xla.amp``: autocast, the gradients' scaler, optimisers that skip a bad step unasked."""

import torch

__all__ = ["SGD", "Adam", "AdamW", "GradScaler", "autocast"]


class autocast(torch.autocast):
    """``torch.autocast("xla")`` with BF16, the only dtype for it.

    Parameters
    ----------
    device : torch.device
    enabled : bool
    dtype : torch.dtype, optional
    cache_enabled : bool
    """

    def __init__(self, device, enabled: bool = True, dtype=None, cache_enabled: bool = True):
        if torch.device(device).type != "xla":
            raise ValueError(f"autocast of device {device}; torch_xla.amp has one for xla")
        if dtype not in (None, torch.bfloat16):
            raise ValueError(f"autocast to {dtype}; on this device it casts to torch.bfloat16")
        super().__init__("xla", torch.bfloat16, enabled, cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """Scales the loss; BF16 needs none.

    Parameters
    ----------
    *given, **options
        Of ``torch.amp.GradScaler``.
    use_zero_grad : bool
        Changes nothing here; it may also be the sixth of `given`.
    """

    def __init__(self, *given, use_zero_grad: bool = False, **options):
        super().__init__("xla", *given[:5], **options)


class _SyncFree:
    """An optimiser whose step is undone on the device where gradients were not finite."""

    def step(self, closure=None, found_inf=None):
        """Step; with `found_inf` (a number on the device) other than 0, change nothing."""
        if found_inf is None:
            return super().step(closure)  # type: ignore[misc]
        before = {one: one.detach().clone() for one in self._tensors()}
        loss = super().step(closure)  # type: ignore[misc]
        with torch.no_grad():
            for one in self._tensors():
                old = before.get(one, torch.zeros_like(one))
                one.copy_(torch.where(found_inf == 0, one, old))
        return loss

    def _tensors(self) -> list:
        groups = self.param_groups  # type: ignore[attr-defined]
        parameters = [p for group in groups for p in group["params"]]
        states = self.state.values()  # type: ignore[attr-defined]
        kept = [one for state in states for one in state.values()]
        return [one for one in parameters + kept
                if isinstance(one, torch.Tensor) and one.device.type == "xla"]  # fmt: skip


class SGD(_SyncFree, torch.optim.SGD):
    """``torch.optim.SGD`` with ``step(found_inf=)``."""


class Adam(_SyncFree, torch.optim.Adam):
    """``torch.optim.Adam`` with ``step(found_inf=)``."""


class AdamW(_SyncFree, torch.optim.AdamW):
    """``torch.optim.AdamW`` with ``step(found_inf=)``."""
