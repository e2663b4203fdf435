"""Parts by contents: nothing moves, copies stay together, what the user has parted stays as it is."""

import hashlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchcaps.data import look_through
from torchcaps.data.parts import PARTS, Item, divide, drawn

CONTENTS = st.integers(0, 40)
GIVEN = st.sampled_from(["train", "validation", "test"])


def items(contents, given=None):
    digests = [hashlib.sha256(str(content).encode()).digest() for content in contents]
    return [Item(f"{k}", digest, 0, given and given[k]) for k, digest in enumerate(digests)]


def where(parts):
    return {item.digest: part for part, found in parts.items() for item in found}


def fifth(digest):
    """By its first eight bytes, which decide for ever: networks of other days did not learn from these."""
    return int.from_bytes(digest[:8], "big") < 2**64 / 5


def test_images_made_to_learn_from_are_validated_by_too():
    found, _ = divide(items(range(2000), ["test"] * 2000), validation=0.5, make_missing=True)
    assert {part: len(kept) for part, kept in found.items()} == {
        part: pytest.approx(share, abs=60) for part, share in {"train": 800, "validation": 800, "test": 400}.items()
    }


def test_shares_are_as_stated():
    found, copies = divide(items(range(20_000)), validation=0.1)
    assert not copies
    assert len(found["test"]) / 20_000 == pytest.approx(0.2, abs=0.01)
    assert {item.name for item in found["test"]} == {item.name for item in items(range(20_000)) if fifth(item.digest)}
    assert len(found["validation"]) / 16_000 == pytest.approx(0.1, abs=0.01)
    first, second = zip(*(drawn(item.digest) for item in items(range(20_000))), strict=True)
    for numbers in (first, second):
        assert sum(numbers) / 20_000 == pytest.approx(0.5, abs=0.01)


@settings(max_examples=80, deadline=None)
@given(st.lists(CONTENTS, max_size=60), st.lists(CONTENTS, max_size=60), st.sampled_from([0.0, 0.1, 0.5]))
def test_others_that_come_or_go_move_nobody(some, more, share):
    before, after = (divide(items(contents), validation=share)[0] for contents in (some, some + more))
    assert sum(map(len, before.values())) == len(some)
    there, here = where(before), where(after)
    assert all(here[digest] == part for digest, part in there.items())
    for one in PARTS:
        for other in PARTS:
            assert one == other or not {i.digest for i in after[one]} & {i.digest for i in after[other]}
    larger = where(divide(items(some), validation=share + 0.2)[0])
    moved = {(part, larger[digest]) for digest, part in there.items() if larger[digest] != part}
    assert moved <= {("train", "validation")}


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(CONTENTS, GIVEN), min_size=1, max_size=60), st.booleans())
def test_parts_of_the_users_own_are_kept(pairs, make):
    contents, given = zip(*pairs, strict=True)
    found, copies = divide(items(contents, given), validation=0.3, make_missing=make)
    parts = {part: {item.digest for item in kept} for part, kept in found.items()}
    assert not parts["train"] & parts["validation"]
    assert not parts["train"] & parts["test"]
    assert not parts["validation"] & parts["test"]
    assert sum(map(len, found.values())) + len(copies) == len(pairs)
    for part, kept in found.items():
        for item in kept:
            made = part if item.given != part else None
            assert made is None or (part not in given and (make or part == "validation"))
    judged = {d.digest for d, g in zip(items(contents), given, strict=True) if g != "train"}
    assert all(copy.digest in judged and copy.given != "test" for copy in copies)


def test_growing_a_class_300_times_moves_no_image(tmp_path):
    """Files come, go and change their names and classes at random; what stays, stays in its part."""
    rng, known = random.Random(0), {}
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
    for k in range(300):
        contents = b"GIF89a" + rng.randbytes(20)
        (tmp_path / rng.choice(["cat", "dog"]) / f"{rng.random()}.gif").write_bytes(contents)
        files = sorted(tmp_path.rglob("*.gif"))
        chosen = rng.choice(files)
        action = rng.choice(["delete", "rename", "move", "copy"])
        if action == "delete":
            chosen.unlink()
        elif action == "copy":
            (chosen.parent / f"copy{k}.gif").write_bytes(chosen.read_bytes())
        else:
            target = tmp_path / "owl" if action == "move" else chosen.parent
            target.mkdir(exist_ok=True)
            chosen.rename(target / f"{rng.random()}.gif")
        found = where(look_through(tmp_path).parts(0.1))
        assert all(known.get(digest, part) == part for digest, part in found.items())
        known |= found
    assert {part: list(known.values()).count(part) > 10 for part in PARTS} == dict.fromkeys(PARTS, True)
