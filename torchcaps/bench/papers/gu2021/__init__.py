"""Artefacts of gu2021."""
