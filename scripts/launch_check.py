#!/usr/bin/env python3
"""Launches a MoE layer or a sparse FFN of a pack from Python and from a graph, and times both.

usage: scripts/launch_check.py PACK OP NAME=VALUE,...

OP is moe_layer_bf16 or sparse_ffn_chosen_bf16. Needs a GPU, PyTorch and the module of
`pip install ./python`. The outputs are compared with products in f32. The times have a cold L2, as
in a sweep, and stand beside the time that the pack says. The exit code is 1 if an output is wrong.
"""

import statistics
import sys

import assay
import torch

ROUNDS = 201
RELATIVE_LIMIT = 1e-2  # of bf16 outputs, with a bf16 layer between


def moe_layer(sizes, tensors):
    x, up, down, logits = (tensors[name].float() for name in ("X", "W_up", "W_down", "logits"))
    chosen = torch.topk(logits, int(sizes["TOP"]), dim=1)
    weights = torch.softmax(chosen.values, dim=1)
    y = torch.zeros_like(x)
    for expert in range(int(sizes["E"])):
        tokens, place = torch.where(chosen.indices == expert)
        gate, linear = (x[tokens] @ up[expert].t()).chunk(2, dim=1)
        hidden = (torch.nn.functional.silu(gate) * linear).bfloat16().float()
        y.index_add_(0, tokens, weights[tokens, place, None] * (hidden @ down[expert].t()))
    return y


def sparse_ffn_chosen(sizes, tensors):
    x, up, bias, down, scores = (tensors[name].float()
                                 for name in ("X", "W1", "b1", "W2", "scores"))
    active = torch.topk(scores, max(1, round(sizes["density"] * sizes["F"]))).indices
    return torch.relu(x @ up[active].t() + bias[active]).bfloat16().float() @ down[active]


EXPECTED = {"moe_layer_bf16": moe_layer, "sparse_ffn_chosen_bf16": sparse_ffn_chosen}
DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}


def draw(argument):
    dtype, shape = DTYPES[argument["dtype"]], argument["shape"]
    if not dtype.is_floating_point or argument["role"] != "in":
        return torch.zeros(shape, dtype=dtype, device="cuda")
    scale = shape[-1] ** -0.5 if argument["name"].startswith("W") else 1
    return torch.randn(shape, device="cuda", dtype=dtype).mul_(scale)


def times_us(launches, flush):
    """The median of each launch, in turn. The stream is held until all is enqueued."""
    samples = [[] for _ in launches]
    for _ in range(ROUNDS):
        for launch, times in zip(launches, samples):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.sum()  # a read, as lines that were written must leave L2 while a kernel runs
            torch.cuda._sleep(400000)
            begin.record()
            launch()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
    return [statistics.median(times) for times in samples]


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in EXPECTED:
        raise SystemExit(__doc__.split("\n\n")[1])
    _, path, op, problem = sys.argv
    sizes = {name: float(value) for name, value in (part.split("=") for part in problem.split(","))}
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        plan = assay.Pack(path).plan(op, **sizes)
        tensors = {argument["name"]: draw(argument) for argument in plan.arguments}
        workspace = torch.empty(max(plan.workspace_bytes, 256), dtype=torch.uint8, device="cuda")
        flush = torch.empty(64 << 20, device="cuda")
        plan.prepare(stream=stream)
        expected = EXPECTED[op](sizes, tensors)

        def launch():
            plan.launch(*tensors.values(), workspace=workspace, stream=stream)

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            launch()
        right = True
        for run in (launch, graph.replay):
            tensors["Y"].fill_(float("nan"))
            run()
            error = (tensors["Y"].float() - expected).norm() / expected.norm()
            right = right and bool(error < RELATIVE_LIMIT)
        how = plan.how()
        print("%s %s\n%s %s\n%s" % (op, problem, how["kernel"], how["configuration"],
                                    "right" if right else "wrong"))
        print("%-26s%10.3f us" % ("tuned, says the pack", how["time_ns"] * 1e-3))
        for name, time_us in zip(("Python", "a graph from Python"),
                                 times_us((launch, graph.replay), flush)):
            print("%-26s%10.3f us" % (name, time_us))
    raise SystemExit(not right)


main()
