"""The project's vision transformer in PyTorch, written from its formulas, with torchvision's names."""

import math

import torch
from keyed import Keyed
from torch import nn

BLOCKS, HEADS, EPS = 12, 3, 1e-6


class SelfAttention(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.zeros(3 * features, features))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * features))
        self.out_proj = nn.Linear(features, features)

    def forward(self, x):
        projected = nn.functional.linear(x, self.in_proj_weight, self.in_proj_bias)
        mixed = []
        for queries, keys, values in zip(*(part.chunk(HEADS, dim=2)
                                           for part in projected.chunk(3, dim=2)), strict=True):
            scores = torch.einsum("nqf,nkf->nqk", queries, keys) / math.sqrt(queries.shape[2])
            mixed.append(torch.einsum("nqk,nkf->nqf", scores.softmax(dim=2), values))
        return self.out_proj(torch.cat(mixed, dim=2))


class EncoderBlock(nn.Module):
    def __init__(self, features, dropout, layer):
        super().__init__()
        self.ln_1 = nn.LayerNorm(features, eps=EPS)
        self.self_attention = SelfAttention(features)
        self.dropout = Keyed(dropout, layer)
        self.ln_2 = nn.LayerNorm(features, eps=EPS)
        self.mlp = nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(),
                                 Keyed(dropout, layer + 1), nn.Linear(4 * features, features),
                                 Keyed(dropout, layer + 2))

    def forward(self, x):
        x = x + self.dropout(self.self_attention(self.ln_1(x)))
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(self, patches, features, dropout):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.zeros(1, 1 + patches, features))
        self.dropout = Keyed(dropout, 0)
        self.layers = nn.Sequential()
        for i in range(BLOCKS):
            self.layers.add_module(f"encoder_layer_{i}",
                                   EncoderBlock(features, dropout, 3 * i + 1))
        self.ln = nn.LayerNorm(features, eps=EPS)

    def forward(self, x):
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class VisionTransformer(nn.Module):
    def __init__(self, classes, height, width_pixels, features, dropout):
        super().__init__()
        features = features or 192
        patch = 4 if max(height, width_pixels) <= 64 else 16
        self.class_token = nn.Parameter(torch.zeros(1, 1, features))
        self.conv_proj = nn.Conv2d(3, features, patch, patch)
        self.encoder = Encoder((height // patch) * (width_pixels // patch), features, dropout)
        self.heads = nn.Sequential()
        self.heads.add_module("head", nn.Linear(features, classes))

    def forward(self, x):
        patches = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_token.repeat(len(x), 1, 1), patches], dim=1)
        return self.heads(self.encoder(x)[:, 0])
