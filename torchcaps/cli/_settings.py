"""From what stands on the command line to the settings of a training."""

import difflib
import json
from typing import Any

from torchcaps.cli._names import SETTINGS, check_keys

WORDS = {"True": True, "False": False, "None": None}
ALIASES = {"optimizer": "optimiser"}
# Never numbers, whatever stands there.
TEXTS = ("fit", "augment", "optimiser", "lr_schedule", "precision", "validation_data", "tune")


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """`key=value` pairs: settings of the training by their names, anything else as options of the model.

    >>> settings_of(["lr=0.01", "width=0.25", "routing=em", "squash=False"])
    {'lr': 0.01, 'options': {'width': 0.25, 'routing': 'em', 'squash': False}}
    """
    found: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ValueError(f"--set {pair!r} is not allowed: write KEY=VALUE, as in --set lr=0.01")
        key = ALIASES.get(key, key)
        (found if key in SETTINGS else options)[key] = text if key in TEXTS else _value(text)
    check_keys([*found, *options])
    return {**found, "options": options} if options else found


def check_options(model: str, options: dict[str, Any]) -> None:
    """Refuse options that this model has not; the nearest name may be a setting's."""
    from torchcaps.models import card, options_of

    own = options_of(card(model).build)
    for key in options:
        if key not in own:
            near = difflib.get_close_matches(key, [*own, *SETTINGS], n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
            raise ValueError(
                f"{model} has no option {key!r}: {hint}torchcaps train {model} --options lists them, and the settings"
            )


def listing(model: str) -> str:
    """Everything that --set takes for a model, with the defaults."""
    from dataclasses import MISSING, fields

    from torchcaps.models import card, options_of
    from torchcaps.train.settings import Settings

    settings = {f.name: f.default if f.default is not MISSING else {} for f in fields(Settings) if f.name in SETTINGS}
    lines = [f"Options of {model}, for --set KEY=VALUE; classes, channels and image size come from the data"]
    lines += [f"  {name} = {value}" for name, value in options_of(card(model).build).items()]
    lines += ["", "Settings of a training, for --set KEY=VALUE; many have an option of their own: --help"]
    return "\n".join([*lines, *(f"  {name} = {value}" for name, value in settings.items())])


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
