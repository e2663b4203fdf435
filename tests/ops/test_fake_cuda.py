"""`torch.compile` (aot_eager) over a network with the kernels inside, for a card that is not here.

A gradient would end the process on a torch without CUDA: `opcheck` shows it on CPU tensors, in `test_operators.py`.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from torch.utils.cpp_extension import include_paths, library_paths

pytest.importorskip("triton", reason="the extra gpu is not installed")
COMPILER = shutil.which("c++")
GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
using namespace c10::impl;
constexpr auto CUDA = c10::DeviceType::CUDA;
static DeviceGuardImplRegistrar guard(CUDA, new NoOpDeviceGuardImpl<CUDA>());
"""
PASSES = {"dynamic": "attend", "inverted_attention": "attend", "em": "moments", "variational": "moments"}


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.skipif(torch.cuda.is_available(), reason="the card itself is here")
def test_networks_compile_for_cuda_in_one_graph_with_the_kernels_inside(tmp_path):
    (tmp_path / "guard.cpp").write_text(GUARD)
    headers = [f"-I{path}" for path in include_paths()]
    libraries = [f"-L{path}" for path in library_paths()]
    flags = ["-std=c++20", "-shared", "-fPIC", *headers, "guard.cpp", "-o", "guard.so", *libraries, "-lc10"]
    subprocess.run([COMPILER, *flags], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "tests.ops.fake_cuda", str(tmp_path / "guard.so"), *PASSES]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TORCHCAPS_PASSES": ""})
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found.pop("passes") == "triton"
    for routing, (operators, device, (images, _)) in found.items():
        assert operators
        assert set(operators) == {PASSES[routing]}
        assert device == "cuda:0"
        assert images == 3
