"""`check_routing` on a routing written here, as a user would: it passes, and each fault planted in it is named."""

import pytest
import torch

from torchcaps.functional import length, squash
from torchcaps.routing import Routing, Trainable
from torchcaps.testing import CASES, Case, RoutingError, check_routing
from torchcaps.testing._trial import Trial
from torchcaps.types import State


class Mine(Routing):
    """Each parent asks for the votes that agree with it."""

    def __init__(self, shape):
        super().__init__(shape, iters=2)

    def query(self, state):
        return None if state is None else state.pose

    def step(self, votes, state, t):
        s, _ = votes.attend(self.query(state))
        pose = self.finish(s)
        return State(pose, length(pose))

    def finish(self, s, *_):
        return squash(s)

    def couplings(self, votes, state):
        return votes.attention(self.query(state))


class OtherCouplings(Mine):
    def couplings(self, votes, state):
        return votes.attention()


class SeesItsNeighbours(Mine):
    def query(self, state):
        return None if state is None else state.pose + state.pose.mean(0, keepdim=True)


class NaNAtZero(Mine):
    def finish(self, s, *_):
        return s / s.norm(dim=-1, keepdim=True)


class ForgetsToFinish(Mine):
    def step(self, votes, state, t):
        s, _ = votes.attend(self.query(state))
        return State(s, length(s))


class SharesTooMuch(Mine):
    def couplings(self, votes, state):
        return 2 * super().couplings(votes, state)


class Forgets(Mine):
    def __init__(self, shape):
        super().__init__(shape)
        self.drawn = torch.randn(shape.d_out)

    def finish(self, s, *_):
        return squash(s + self.drawn.to(s.dtype))


class WantsTwoImages(Mine):
    def finish(self, s, *_):
        if len(s) == 1:
            raise IndexError("too few images")
        return squash(s)


FAULTS = {
    OtherCouplings: "the couplings it reports are not those its step used",
    SeesItsNeighbours: "the scores of an image change with the others of its batch, by up to",
    NaNAtZero: "at zero input there is NaN or infinity in the poses",
    ForgetsToFinish: "or `finish` not what its step ends with",
    SharesTooMuch: "a child's couplings do not sum to one over its parents",
    Forgets: "a network with the same state dict gives other scores",
    WantsTwoImages: "it fails with IndexError: too few images",
}


def test_a_routing_of_ones_own_passes():
    before = torch.random.get_rng_state()
    assert check_routing(Mine) is None
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("routing", "sentence"), FAULTS.items(), ids=lambda v: getattr(v, "__name__", ""))
def test_faults_are_named(routing, sentence, no_shape_checks):
    with pytest.raises(RoutingError) as fault:
        check_routing(routing)
    message = str(fault.value)
    assert message.startswith(routing.__name__)
    assert sentence in message
    assert any(str(case) in message for case in CASES)
    assert isinstance(fault.value, AssertionError)


class NaNInAGradient(Mine):
    """Poses are as they should be, and so is the gradient of the images; that of a parameter is not."""

    def __init__(self, shape):
        super().__init__(shape)
        self.extra = torch.nn.Parameter(torch.zeros(1))

    def finish(self, s, *_):
        return squash(s + 0 * self.extra.sqrt())


class WantsAnImage(Mine):
    def finish(self, s, *_):
        if len(s) == 0:
            raise IndexError("no image")
        return squash(s)


class OtherUnderTransforms(Mine):
    def finish(self, s, *_):
        return squash(2 * s if torch._C._functorch.peek_interpreter_stack() is not None else s)


class ChangedByLooking(Mine):
    """To ask for couplings doubles the pose that was just made."""

    def __init__(self, shape):
        super().__init__(shape)
        self.iters = 1

    def step(self, votes, state, t):
        after = super().step(votes, state, t)
        self.made = after.pose
        return after

    def couplings(self, votes, state):
        self.made.data.mul_(2)
        return super().couplings(votes, state)


class WrongInLaterSweeps(Mine):
    def __init__(self, shape):
        super().__init__(shape)
        self.iters = 1

    def step(self, votes, state, t):
        after = super().step(votes, state, t)
        return after if t == 0 else after._replace(pose=2 * after.pose)


class AlmostRight(Mine):
    """Within what single precision allows."""

    def step(self, votes, state, t):
        after = super().step(votes, state, t)
        return after._replace(pose=after.pose * (1 + 1e-6))


class OtherShape(Mine):
    def couplings(self, votes, state):
        return super().couplings(votes, state)[..., :1]


class NaNInASecondDerivative(Mine):
    """|0|^1.5 has a slope, and its slope has none."""

    def finish(self, s, *_):
        return squash(s + (s - s.detach()).abs().pow(1.5))


IN_DOUBLE = Case("vector", "connected", "sequential", "float64")
HIDDEN = {
    NaNInAGradient: (CASES[0], r"at zero input there is NaN or infinity in the gradient of layers\.0\.routing\.extra"),
    WantsAnImage: (CASES[0], "it fails with IndexError: no image"),
    OtherUnderTransforms: (IN_DOUBLE, "torch.func.grad gives another gradient than backward"),
    ChangedByLooking: (CASES[0], "the scores change when a record is asked for"),
    WrongInLaterSweeps: (CASES[0]._replace(schedule="concurrent"), "or `finish` not what its step ends with"),
    OtherShape: (CASES[0], "the shapes of the couplings are .* and not"),
    NaNInASecondDerivative: (IN_DOUBLE, "there is NaN or infinity in a second derivative"),
    AlmostRight: (IN_DOUBLE, "the votes they give differ from the poses"),
}


@pytest.mark.parametrize("routing", HIDDEN)
def test_what_shows_in_one_place_only_is_named(routing, no_shape_checks):
    case, sentence = HIDDEN[routing]
    with pytest.raises(RoutingError, match=sentence):
        check_routing(routing, [case])


@pytest.mark.parametrize("routing", [WrongInLaterSweeps, AlmostRight])
def test_and_elsewhere_it_is_not(routing, no_shape_checks):
    check_routing(routing, CASES[:1])


@pytest.mark.parametrize(
    ("precision", "below", "inside"),
    [
        ("float32", torch.float32, torch.float32),
        ("float64", torch.float64, torch.float64),
        ("bfloat16", torch.bfloat16, torch.float32),
    ],
)
def test_each_precision_is_really_tried(precision, below, inside):
    trial = Trial(Mine, CASES[0]._replace(precision=precision))
    primary, *above = trial.run(trial.images(2), "last").capsules
    assert primary.pose.dtype == below
    assert {capsules.pose.dtype for capsules in above} == {inside}


def test_couplings_that_are_means_are_named():
    """Trainable couplings for each dimension: what is reported cannot be what the step used, as the docstring says."""
    with pytest.raises(RoutingError, match="the couplings it reports are not those its step used"):
        check_routing(lambda shape: Trainable(shape, per_dim=True))


class EndsWithTheSum(Routing):
    """One step, and nothing after it: `finish` need not be written."""

    def step(self, votes, state, t):
        s, _ = votes.attend()
        return State(s, length(s))

    def couplings(self, votes, state):
        return votes.attention()


def test_a_step_that_ends_with_the_sum_needs_no_finish():
    check_routing(EndsWithTheSum, CASES[:1])
