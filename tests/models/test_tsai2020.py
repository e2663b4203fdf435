"""Where the parents of tsai2020's EM networks compete."""

import pytest
import torch

from torchcaps.models import create_model


@pytest.mark.parametrize("routing", ["em", "variational"])
def test_parents_compete_in_a_window_or_across_the_grid(routing):
    window, grid = (
        create_model("tsai2020/em_simple", width=0.1, routing=routing, **options)
        for options in ({}, {"competition": "grid"})
    )
    grid.load_state_dict(window.state_dict())
    x = torch.rand(2, 3, 32, 32)
    for net, once in ((window, False), (grid, True)):
        windows, first = net.layers[0].windows, net(x, record="last").couplings[0]
        shared = windows.by_child(first).sum((-2, -1))
        seen = (windows.parents[..., 0] >= 0).any(-1)  # a stride of 2 leaves the last row and column out
        assert seen.sum() == 15 * 15
        assert torch.allclose(shared[:, seen], torch.ones(()), atol=1e-5) == once
