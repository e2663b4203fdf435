"""The losses that routings are trained with where a model's own, made for another routing, does not serve."""

LOSSES = {"inverted_attention": "ce", "em": "spread"}
"""Of their papers. EM stays at chance under CapsNet's margin loss; inverted attention has no lengths for it."""
