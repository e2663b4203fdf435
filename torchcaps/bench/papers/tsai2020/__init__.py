"""Artefacts of tsai2020."""
