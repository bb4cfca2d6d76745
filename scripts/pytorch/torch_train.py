#!/usr/bin/env python3
"""Trains in PyTorch what a run of ours trained: same text, split, model, initial distributions,
optimizer and schedule (not the same random numbers), and prints its validation loss as JSON.

usage: torch_train.py RUN/config.yaml
"""
import argparse
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml

arguments = argparse.ArgumentParser()
arguments.add_argument("config")
arguments.add_argument("--threads", type=int, default=2)
arguments.add_argument("--seed", type=int, default=1)
options = arguments.parse_args()
config = yaml.safe_load(open(options.config))
data, model, rule, schedule, trainer = (
    config[k] for k in ("data", "model", "optimizer", "schedule", "trainer"))
torch.set_num_threads(options.threads)
torch.manual_seed(options.seed)

L, D, H, F_IN, T = (int(model[k]) for k in ("layers", "width", "heads", "feedforward", "context"))
position = model["position"]["kind"]
scaled = model["initialisation"] == "scaled"
deviation = 0.45 / math.sqrt(D) if scaled else 0.02
drop = float(model["dropout"])
assert model["norm_position"] == "pre" and model["norm"] == "layernorm" and not model["gated"]
assert model["activation"] == "gelu" and model["tied_head"] and position in (
    "none", "learned", "sinusoidal"), "this script knows plain GPT-like models only"


def linear(inputs, outputs, residual=False):
    layer = nn.Linear(inputs, outputs)
    if scaled:
        nn.init.uniform_(layer.weight, -inputs ** -0.5, inputs ** -0.5)
    else:
        nn.init.normal_(layer.weight, 0, 0.02 / (math.sqrt(2 * L) if residual else 1))
    nn.init.zeros_(layer.bias)
    return layer


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.q, self.k, self.v = (linear(D, D) for _ in range(3))
        self.o, self.up, self.down = linear(D, D, True), linear(D, F_IN), linear(F_IN, D, True)

    def forward(self, x):
        B, n, _ = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(B, n, H, D // H).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                           dropout_p=drop if self.training else 0)
        x = x + F.dropout(self.o(y.transpose(1, 2).reshape(B, n, D)), drop, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.n2(x)))), drop, self.training)


class Model(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, D)
        nn.init.normal_(self.embedding.weight, 0, deviation)
        if position == "learned":
            self.position = nn.Parameter(torch.randn(T, D) * deviation)
        if position == "sinusoidal":
            angle = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
            table = torch.stack([angle.sin(), angle.cos()], -1).reshape(T, D)
            self.register_buffer("table", table * math.sqrt(2) * deviation)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = nn.LayerNorm(D)

    def forward(self, tokens):
        x = self.embedding(tokens)
        if position == "learned":
            x = x + self.position[: tokens.shape[1]]
        if position == "sinusoidal":
            x = x + self.table[: tokens.shape[1]]
        x = F.dropout(x, drop, self.training)
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.embedding.weight)


def read_tokens():
    text = b"".join(open(path, "rb").read() for path in data["text"])
    if data["tokenizer"] == "char":
        characters = text.decode("utf-8")
        ids = {c: i for i, c in enumerate(sorted(set(characters)))}
        tokens, vocabulary = [ids[c] for c in characters], len(ids)
    else:
        tokens, vocabulary = list(text), 256
    total = sum(data["split"])
    # By characters here and by bytes there: the same for plain ASCII texts.
    ends = [int(len(tokens) * sum(data["split"][: i + 1]) / total) for i in range(3)]
    tokens = torch.tensor(tokens)
    return tokens[: ends[0]], tokens[ends[0]: ends[1]], vocabulary


def rate(step):
    warmup, steps, final = (
        schedule["warmup_steps"], schedule["steps"], schedule.get("final_fraction", 0))
    if step < warmup:
        return step / warmup
    progress = min(1, (step - warmup) / max(1, steps - warmup))
    assert schedule["kind"] in ("cosine", "constant")
    return 1 if schedule["kind"] == "constant" else (
        final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress)))


train, valid, vocabulary = read_tokens()
net = Model(vocabulary)
groups = [{"params": [p for p in net.parameters() if p.dim() >= 2],
           "weight_decay": float(rule["weight_decay"])},
          {"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=float(rule.get("learning_rate") or 1e-3),
                              betas=tuple(rule["betas"]), eps=float(rule["epsilon"]), fused=True)
peak = optimizer.param_groups[0]["lr"]
sequences = trainer["batch_tokens"] // T


def windows():
    while True:  # epochs of shuffled windows from a random offset, as ours
        offset = int(torch.randint(T, ()))
        count = (len(train) - 1 - offset) // T
        for i in torch.randperm(count):
            yield offset + int(i) * T


source = windows()
for step in range(trainer["steps"]):
    starts = [next(source) for _ in range(sequences)]
    x = torch.stack([train[s: s + T] for s in starts])
    y = torch.stack([train[s + 1: s + 1 + T] for s in starts])
    for group in optimizer.param_groups:
        group["lr"] = peak * rate(step)
    loss = F.cross_entropy(net(x).view(-1, vocabulary), y.reshape(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if rule["clip_norm"]:
        nn.utils.clip_grad_norm_(net.parameters(), rule["clip_norm"])
    optimizer.step()

net.eval()
nats, scored = 0.0, 0
with torch.no_grad():
    whole = (len(valid) - 1) // T
    pieces = [(i * T, T) for i in range(whole)]
    if (len(valid) - 1) % T:
        pieces.append((whole * T, (len(valid) - 1) % T))
    for start, length in pieces:
        logits = net(valid[None, start: start + length])
        target = valid[start + 1: start + 1 + length]
        nats += F.cross_entropy(logits[0], target, reduction="sum").item()
        scored += length
print(json.dumps({"validation_loss": nats / scored, "scored": scored, "torch": torch.__version__}))
