"""The library's own routings, by name: what the bench asks of every routing it asks of these.

`torchcaps.routing.ROUTINGS` would not do: whoever registers a routing of their own would change claims and tables.
"""

ROUTINGS = (
    "uniform",
    "trainable",
    "dynamic",
    "em",
    "inverted_attention",
    "self_routing",
    "variational",
    "self_attention",
)
