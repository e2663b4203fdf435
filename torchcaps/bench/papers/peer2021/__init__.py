"""Artefacts of peer2021."""
