// Memory for a large result that Python fills, and an end to memory that is kept for the next.
#include <torch/library.h>

#include "buffers.h"

namespace torchcaps {
namespace {

at::Tensor room(at::IntArrayRef sizes, const at::Tensor& like) { return result(sizes, like); }

int64_t release() { return Buffers::all().clear(); }

}  // namespace
}  // namespace torchcaps

// The schemas are declared in torchcaps/ops/pages.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("room", torchcaps::room); }
TORCH_LIBRARY_IMPL(torchcaps, CompositeExplicitAutograd, m) { m.impl("release", torchcaps::release); }
