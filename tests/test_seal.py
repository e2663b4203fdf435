"""A seal holds for the same facts in any order, and for no others."""

from torchcaps._seal import is_whole, sealed

FACTS = {"name": "capsnet", "options": {"width": 0.5, "classes": ["cat", "dog"]}, "format": 2}


def test_the_order_of_keys_does_not_matter():
    whole = sealed(FACTS)
    backwards = {name: whole[name] for name in reversed(whole)}
    backwards["options"] = {"classes": ["cat", "dog"], "width": 0.5}
    assert is_whole(whole)
    assert is_whole(backwards)


def test_anything_else_breaks_it():
    whole = sealed(FACTS)
    assert not is_whole(FACTS)  # there is none
    assert not is_whole({**whole, "options": {"width": 0.5, "classes": ["dog", "cat"]}})
    assert not is_whole({**whole, "format": 3})
    assert not is_whole({**whole, "more": None})
    assert not is_whole({name: value for name, value in whole.items() if name != "name"})
    assert not is_whole({**whole, "seal": "0" * 64})
