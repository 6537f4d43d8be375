"""Dropout whose masks are recomputed from the project's documented keys."""

import philox
import torch
from torch import nn


class Keyed(nn.Module):
    """Dropout from keys. `moment` = (seed, update, ids) is set before a training pass."""

    def __init__(self, probability, layer):
        super().__init__()
        self.probability, self.layer, self.moment = probability, layer, None

    def forward(self, x):
        if not self.training or self.probability == 0:
            return x
        seed, update, ids = self.moment
        keep = philox.dropout_keep(seed, update, self.layer, ids, x[0].numel(), self.probability)
        mask = torch.from_numpy(keep).reshape(x.shape).to(x.dtype)
        return x * mask / (1 - self.probability)
