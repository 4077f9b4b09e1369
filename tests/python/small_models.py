# SPDX-License-Identifier: Apache-2.0
"""Models that several tests of graphs share."""

import torch


class Transformer(torch.nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.embedding = torch.nn.Embedding(100, width)
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True}
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(width, 4, 4 * width, **options) for _ in range(layers)
        )

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return x @ self.embedding.weight.T  # the same weight twice
