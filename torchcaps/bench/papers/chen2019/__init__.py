"""Artefacts of chen2019."""
