"""The kernels for GPUs: compiled for cards that are not here, a model of what they gain, and a bench for who has one.

python -m benchmarks.gpu.kernels     every kernel as machine code for seven kinds of cards
python -m benchmarks.gpu.model       bytes, multiply-adds and the least time they take, by card
python -m benchmarks.gpu.report      docs/gpu.md, from both
python -m benchmarks.gpu             on a card: checks, then measures (`make bench-gpu`)
"""
