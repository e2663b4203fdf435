"""Planted faults: would the tests notice?

    python -m benchmarks.mutants [LIST or FILE…] [--part 1/2] [--check] [--again]

Faults chosen by hand lie in `faults/*.toml`, at least three for every module of the library that does anything; sixty
more are drawn at random with a seed that is fixed here (`draw`). Each is planted alone in a copy of the project, the
tests named for it are run up to the first that fails, and what came of it is appended to
`benchmarks/results/mutants/`, so that a run that was stopped goes on. `benchmarks/results/mutants.md` counts them, with
an explanation for each that nothing noticed.
"""
