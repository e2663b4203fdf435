"""Faults drawn from today's syntax trees, planted one at a time: would the tests notice?

    python -m benchmarks.mutants [PATH …] [--seed S] [--number N] [--minutes M] [--append]

A fault is a small change of one place of the library: another comparison, another number, a call left out. Each is
planted alone in a copy of the project, and the tests near its module are run up to the first that fails. Those that
no test noticed are printed with file, line, old and new text; which of them are gaps in the tests and which mean the
same as before, a reader decides. `--append` adds the score to `benchmarks/results/mutants.md`.
"""
