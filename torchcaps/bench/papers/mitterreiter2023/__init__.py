"""Artefacts of mitterreiter2023."""
