// Memory for a large result that Python fills.
#include <torch/library.h>

#include "buffers.h"

namespace torchcaps {
namespace {

at::Tensor room(at::IntArrayRef sizes, const at::Tensor& like) { return result(sizes, like); }

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/pages.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("room", torchcaps::room); }
