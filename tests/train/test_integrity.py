"""What a run says of itself is what it is: edited files, weights that are none, networks written in Python."""

import json
import resource
import shutil

import pytest
import torch
from torch import nn

import torchcaps.routing
from torchcaps import fit, load_run
from torchcaps._seal import SEAL, sealed
from torchcaps.infer import infer
from torchcaps.models import create_model
from torchcaps.network import CapsNet
from torchcaps.routing import ROUTINGS, Uniform, register_routing
from torchcaps.train import checkpoint
from torchcaps.train.checkpoint import Checkpoint
from torchcaps.train.fingerprint import DATA
from torchcaps.train.run import CHECKPOINTS, MODEL, RUN

NAME = "mitterreiter2023/capsnet"
SMALL = {"width": 0.1, "layers": 2, "reconstruction": "none", "image_size": 28}
ALL = {"batch_size": 16, "epochs": 1, "quiet": True}


@pytest.fixture
def run(tmp_path, glyphs):
    fit(NAME, glyphs, options=SMALL, out=tmp_path / "run", **ALL)
    return tmp_path / "run"


def edit(file, change, *, seal):
    facts = json.loads(file.read_text())
    mark = facts.pop(SEAL)
    change(facts)
    file.write_text(json.dumps(sealed(facts) if seal else {**facts, SEAL: mark}))


CHANGES = {
    "routing": lambda facts: facts["settings"]["options"].update(routing="uniform"),
    "class order": lambda facts: facts["classes"].reverse(),
    "image shape": lambda facts: facts.update(image_shape=[1, 36, 36]),
    "loss": lambda facts: facts["settings"].update(loss={"name": "ce"}),
    "standardise": lambda facts: facts["settings"].update(standardise=True),
    "learning rate": lambda facts: facts["settings"].update(lr=0.5),  # no part of the network's recipe
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_was_edited_is_refused(run, change):
    """By its own checksum; with that made anew, by the final network; without it, by the checkpoint."""
    edit(run / RUN, CHANGES[change], seal=False)
    with pytest.raises(ValueError, match=r"run\.json cannot be read: it was changed after it was written"):
        load_run(run)
    edit(run / RUN, lambda facts: None, seal=True)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"run\.json does not belong to the weights beside it: .* was .*, now "):
            load_run(run)
        shutil.rmtree(run / MODEL, ignore_errors=True)


ABSURD = {
    "width": (lambda facts, options: options.update(width=0.07), "holds the weights of another network"),
    "classes": (
        lambda facts, options: options.update(num_classes=10**9),
        "does not fit its network: num_classes is 10000",
    ),
    "many classes": (
        lambda facts, options: (options.update(num_classes=10**6), facts.update(classes=list(map(str, range(10**6))))),
        "holds the weights of another network|GB of memory",
    ),
    "channels": (lambda facts, options: options.update(in_chans=10**9), "does not fit its network: in_chans"),
    "layers": (lambda facts, options: options.update(layers=10**9), "layers=1000000000 is not allowed"),
    "kind": (lambda facts, options: options.update(layers="deep"), "layers='deep' is not allowed"),
    "an option 'name'": (lambda facts, options: options.update(name="x"), "has no option 'name'"),
    "few classes": (lambda facts, options: facts.update(classes=["a"]), "does not fit its network: num_classes is 10"),
    "no classes": (lambda facts, options: facts.update(classes=3), "cannot be read"),
    "huge images": (
        lambda facts, options: facts.update(image_shape=[1, 10**6, 10**6]),
        "image_shape=.* is not allowed",
    ),
    "half an image": (lambda facts, options: facts.update(image_shape=[1, 0.5, 28]), "image_shape=.* is not allowed"),
}


@pytest.mark.parametrize("case", ABSURD)
def test_a_run_that_was_edited_in_every_place_is_refused(named, case, tmp_path, no_shape_checks):
    """Both files changed alike, with checksums made anew: what cannot be is said, before memory is taken for it."""
    change, message = ABSURD[case]
    folder = tmp_path / "edited"
    shutil.copytree(named, folder, ignore=shutil.ignore_patterns(CHECKPOINTS))
    edit(folder / RUN, lambda facts: change(facts, facts["settings"]["options"]), seal=True)
    edit(folder / MODEL / "config.json", lambda facts: change(facts, facts["options"]), seal=True)
    edit(
        folder / MODEL / "config.json",
        lambda facts: change(facts, facts["training"]["settings"]["options"]),
        seal=True,
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=message):
        load_run(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kilobytes


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A run on data that has a name, so that its settings hold all options of the network."""
    folder = tmp_path_factory.mktemp("named") / "run"
    options = {name: value for name, value in SMALL.items() if name != "image_size"}
    fit(NAME, "glyphs", options=options, images=40, out=folder, **ALL)
    return folder


@pytest.mark.parametrize("file", [RUN, f"{MODEL}/config.json"])
def test_deeply_nested_json_is_no_run(named, file, tmp_path):
    folder = tmp_path / "edited"
    shutil.copytree(named, folder, ignore=shutil.ignore_patterns(CHECKPOINTS))
    (folder / file).write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"cannot be read|is not JSON"):
        load_run(folder)


@pytest.mark.parametrize("part", ["history", "settings", "sums", "optimiser"])
def test_a_checkpoint_that_is_not_complete_is_refused(named, part, tmp_path):
    folder = tmp_path / "edited"
    shutil.copytree(named, folder)
    found, _ = checkpoint.newest(folder / CHECKPOINTS)
    record = {name: value for name, value in found.record.items() if name != part}
    checkpoint.save(folder / CHECKPOINTS, 99, Checkpoint(record, found.tensors))
    shutil.rmtree(folder / MODEL)  # it has not ended
    for act in (lambda: load_run(folder), lambda: fit(NAME, "glyphs", images=40, out=folder, resume=True, **ALL)):
        with pytest.raises(ValueError, match=f"holds a checkpoint that is not complete: it has no {part}"):
            act()


@pytest.mark.parametrize("options", [{"in_chans": 3}, {"image_size": 36}, {"num_classes": 20}])
def test_a_network_for_other_images_is_refused_at_once(options, tmp_path):
    """Not after a step, and with words of ours."""
    name = next(iter(options))
    with pytest.raises(ValueError, match=f"{name}=.* is not allowed: the images|the model tells 20 classes"):
        fit(NAME, "glyphs", options={**SMALL, **options}, images=40, out=tmp_path / "run", **ALL)
    assert not list(tmp_path.iterdir())


def test_going_on_with_other_threads_is_said(named, tmp_path, capsys):
    """The same bits need as many threads: who asked for them hears it."""
    said = "the bits are not those of a training left alone: threads was"
    for deterministic in (True, False):
        out = tmp_path / str(deterministic)
        chosen = {**ALL, "deterministic": deterministic, "quiet": False, "images": 40, "options": {"width": 0.1}}
        fit(NAME, "glyphs", out=out, **chosen)
        edit(out / RUN, lambda facts: facts["made_with"].update(threads=7), seal=True)
        fit(NAME, "glyphs", out=out, resume=True, **{**chosen, "epochs": 2})
        assert (said in capsys.readouterr().err) == deterministic


def test_resuming_looks_at_both(run, glyphs):
    (run / RUN).unlink()
    with pytest.raises(ValueError, match=r"cannot be resumed with other settings: lr was 0\.001, now 0\.5"):
        fit(NAME, glyphs, options=SMALL, out=run, resume=True, lr=0.5, **ALL)
    other = glyphs.select(torch.arange(len(glyphs)))
    other.classes = tuple(reversed(glyphs.classes))
    with pytest.raises(ValueError, match="the data has changed: its classes was"):
        fit(NAME, other, options=SMALL, out=run, resume=True, **{**ALL, "epochs": 2})
    (run / DATA).unlink()  # as older versions left it
    fewer = glyphs.select(torch.arange(len(glyphs) - 10))
    with pytest.raises(ValueError, match=r"the data has changed: it had \d+ training images, now \d+"):
        fit(NAME, fewer, options=SMALL, out=run, resume=True, **{**ALL, "epochs": 2})


@pytest.mark.parametrize("what", ["parameter", "buffer"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(run, what, value):
    found, _ = checkpoint.newest(run / CHECKPOINTS)
    names = {name: t for name, t in found.tensors.items() if name.startswith("model.") and t.is_floating_point()}
    name = next(name for name in names if ("running_mean" in name) == (what == "buffer"))
    found.tensors[name].view(-1)[0] = value
    checkpoint.save(run / CHECKPOINTS, found.record["step"] + 1, Checkpoint(found.record, found.tensors))
    shutil.rmtree(run / MODEL)  # it has not ended
    if what == "buffer" and value == float("inf"):
        assert load_run(run).history, "a mask may hold infinity"
        return
    with pytest.raises(ValueError, match=f"holds a network that is of no use: The {what} .* holds NaN"):
        load_run(run)


def test_what_computed_it_is_recorded(run):
    made = load_run(run).made_with
    assert made.keys() == {"torchcaps", "torch", "device", "passes", "threads", "processes"}
    assert made["torch"] == str(torch.__version__)
    assert made["passes"].startswith(("native", "plain"))
    assert (made["device"], made["threads"], made["processes"]) == ("cpu", 1, 1)
    assert json.loads((run / RUN).read_text())["settings"]["precision"] == "32"


def test_double_precision_comes_back(tmp_path, glyphs):
    kept = fit(NAME, glyphs, options=SMALL, out=tmp_path / "run", precision="64", **ALL)
    x = torch.rand(3, 1, 28, 28)
    assert torch.equal(infer(load_run(tmp_path / "run").model, x).scores, infer(kept.model, x).scores)


# Networks written in Python


class Halved(Uniform):
    """A routing of a user's own."""


def with_routing():
    return create_model(NAME, routing=Halved, **SMALL)


def with_backbone():
    backbone = nn.Sequential(nn.Conv2d(1, 8, 9, 4), nn.ReLU())
    return create_model("sabour2017/capsnet", backbone=backbone, width=0.05, reconstruction="none", kernel=3)


def by_hand():
    net = create_model(NAME, **SMALL)
    return CapsNet(net.backbone, net.primary, list(net.layers), net.head)


def from_registry():
    return create_model(NAME, **SMALL)


@pytest.mark.parametrize("build", [with_routing, with_backbone, by_hand, from_registry])
@pytest.mark.parametrize("ended", [True, False])
def test_any_network_keeps_its_weights(build, ended, tmp_path, glyphs):
    """Finished, from the weights alone; unfinished, from the checkpoint. Those of the registry need no help."""
    out, x = tmp_path / "run", torch.rand(3, 1, 28, 28)
    chosen = {**ALL, "loss": {"name": "margin", "upper": 0.8}, "standardise": True}
    run = fit(build(), glyphs, out=out, **chosen)
    (out / (CHECKPOINTS if ended else MODEL)).rename(tmp_path / "away")
    if build is not from_registry:
        with pytest.raises(ValueError, match=r"put together by hand: build it"):
            load_run(out)
    net = None if build is from_registry else build()
    found = load_run(out, model=net)
    assert net is None or found.model is net
    assert torch.equal(infer(found.model, x).scores, infer(run.model, x).scores)
    assert found.model.loss.upper == 0.8
    assert found.model.standardises
    with pytest.raises(ValueError, match="holds the weights of another network"):
        load_run(out, model=create_model("chen2019/lenet"))


def test_it_goes_on_with_the_network_given_again(tmp_path, glyphs):
    for name, epochs in (("once", (2,)), ("twice", (1, 2))):
        for count in epochs:
            torch.manual_seed(3)
            fit(with_routing(), glyphs, out=tmp_path / name, resume=count == 2, **{**ALL, "epochs": count})
    one, two = (load_run(tmp_path / name, model=with_routing()).model for name in ("once", "twice"))
    for first, second in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(first, second)


def test_a_registered_routing_is_saved_by_name(tmp_path, glyphs, monkeypatch):
    monkeypatch.setattr(torchcaps.routing, "ROUTINGS", ROUTINGS)
    monkeypatch.setitem(ROUTINGS, "halved", Halved)
    register_routing("halved", Halved)
    run = fit(NAME, glyphs, options={**SMALL, "routing": "halved"}, out=tmp_path / "run", **ALL)
    assert run.settings.options["routing"] == "halved"
    found = load_run(tmp_path / "run").model
    assert isinstance(found.layers[0].routing, Halved)
    monkeypatch.delitem(ROUTINGS, "halved")
    with pytest.raises(ValueError, match=r"routing='halved' is not allowed: .* or register_routing yours"):
        load_run(tmp_path / "run")


@pytest.mark.parametrize(("name", "factory", "message"), [
    ("em", Halved, "name='em' is not allowed: there is a routing of that name"),
    ("a b", Halved, "name='a b' is not allowed"),
    ("mine", 3, "factory=3 is not allowed"),
])  # fmt: skip
def test_names_that_cannot_be_registered(name, factory, message, no_shape_checks):
    before = dict(ROUTINGS)
    with pytest.raises(ValueError, match=message):
        register_routing(name, factory)
    assert before == ROUTINGS
