#!/usr/bin/env python3
"""Launches gemm_bf16 of a pack for many sizes on a GPU, and compares with cuBLASLt's first choice.

usage: scripts/pack_check.py PACK [--sizes COUNT] [--seed NUMBER] [--each]
       [--against PACK --problems FILE]

M is 1 to 8192. N and K are those of language models, or multiples of 8. Needs PyTorch and the
module of `pip install ./python`. Each output is compared with a product in f32, each launch is
timed in a graph with an L2 that other memory was read into, as in a sweep. What the pack launches
by cuBLASLt is timed for every eighth size: both are the same call, so that these ratios show the
noise. The exit code is 1 if an output is wrong. With --against the launches of another pack are
what is compared with, for the problems of a file with lines "gemm_bf16 M=16,N=4096,K=4096".
"""

import argparse
import random
import statistics

import assay
import torch

MODELS = ((4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336))
ROUNDS = 21
RELATIVE_LIMIT = 4e-3  # of bf16 outputs


def draw(generator):
    m = generator.randint(*generator.choice(((1, 16), (1, 64), (65, 512), (513, 8192))))
    sides = (8 * generator.randint(16, 1024), 8 * generator.randint(16, 1024))
    return (m, *generator.choice((*MODELS, sides)))


def captured(launch):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        launch(stream)
        graph.capture_end()
    torch.cuda.synchronize()
    return graph


def times_us(graphs, flush):
    """The median of each graph, in turn, so that both meet the same clock. A flush that writes
    leaves lines that go to memory while the kernel runs: a kernel of 22 us then took 31 us."""
    samples = [[] for _ in graphs]
    for _ in range(ROUNDS):
        for graph, times in zip(graphs, samples):
            flush.sum()
            torch.cuda._sleep(40_000)  # until the graph is enqueued
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
    return [statistics.median(times) for times in samples]


def check(pack, other, m, n, k, flush, is_timed):
    """How the sizes are launched, whether right, and the time of the other pack's launch, or
    cuBLASLt's, over that of the pack's; 1: not timed."""
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    expected = a.float() @ b.float().t()
    right, graphs, how = True, [], None
    # At 0.5 no problem is near, itself included: cuBLASLt is called.
    for each, most_factor in ((pack, 0), (other, 0) if other else (pack, 0.5)):
        plan = each.plan("gemm_bf16", M=m, N=n, K=k, most_factor=most_factor)
        how = how or plan.how()
        c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        workspace = torch.full((max(plan.workspace_bytes, 256),), 255, dtype=torch.uint8,
                               device="cuda")
        plan.prepare()

        def launch(stream, plan=plan, c=c, workspace=workspace):
            plan.launch(a, b, c, workspace=workspace, stream=stream)

        launch(torch.cuda.current_stream())
        error = (c.float() - expected).norm() / expected.norm()
        right = right and bool(error < RELATIVE_LIMIT)
        graphs.append(captured(launch))
    if how["match"] == "fallback" and not other and not is_timed:
        return how, right, 1
    own_us, library_us = times_us(graphs, flush)
    return how, right, library_us / own_us


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("pack")
    parser.add_argument("--sizes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--against")
    parser.add_argument("--problems")
    parser.add_argument("--each", action="store_true", help="print each ratio")
    options = parser.parse_args()
    pack = assay.Pack(options.pack)
    other = assay.Pack(options.against) if options.against else None
    flush = torch.zeros(64 << 20, device="cuda")
    generator = random.Random(options.seed)
    sizes = (draw(generator) for _ in range(options.sizes))
    if options.problems:
        with open(options.problems) as lines:
            sizes = [[int(part.split("=")[1]) for part in line.split()[1].split(",")[:3]]
                     for line in lines]
    speedups, num_wrong, count = {}, 0, 0
    for m, n, k in sizes:
        how, right, speedup = check(pack, other, m, n, k, flush, count % 8 == 0)
        count += 1
        speedups.setdefault(how["match"], []).append(speedup)
        if options.each and speedup != 1:
            print("M=%d,N=%d,K=%d %s %.3f %s" % (m, n, k, how["match"], speedup, how["problem"]))
        if not right:
            num_wrong += 1
            print("wrong:", m, n, k, how)
    print("%d sizes, %d wrong" % (count, num_wrong))
    untuned = sum((speedups[match] for match in speedups if match != "exact"), [])
    groups = {**speedups, "untuned": untuned, "all": sum(speedups.values(), [])}
    whose = options.against or "cuBLASLt"
    for match, ratios in groups.items():
        if not ratios:
            continue
        print("%-8s %4d: %.3f of the speed of %s in the geometric mean, %.3f at least, "
              "%d below 0.98"
              % (match, len(ratios), statistics.geometric_mean(ratios), whose, min(ratios),
                 sum(ratio < 0.98 for ratio in ratios)))
    raise SystemExit(num_wrong > 0)


main()
