"""The speed of torchcaps: every routing, network and model against textbook code, as ratios in one interleaved run.

    python -m benchmarks.speed --json benchmarks/results/speed.json
    python -m benchmarks.speed.report benchmarks/results/speed.json --out docs

The first measures, the second writes the tables and the picture of `docs/` from the committed result.
"""
