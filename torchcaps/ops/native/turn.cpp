// Columns as rows, a tile at a time by every thread: torch turns a matrix with one.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include "pages.h"
#include "turn.h"

namespace torchcaps {
namespace {

using at::Tensor;

constexpr int64_t kTogether = 64;  // tiles that are worth a thread

Tensor turned(const Tensor& given) {
  TORCH_CHECK(given.dim() == 2, "only a matrix can be turned, not ", given.sizes());
  if (given.t().is_contiguous()) return given.t().clone();
  const Tensor t = given.contiguous();
  const int64_t n = t.size(0), m = t.size(1), down = (n + kSide - 1) / kSide, across = (m + kSide - 1) / kSide;
  Tensor made = in_huge_pages(at::empty({m, n}, t.options()));
  AT_DISPATCH_FLOATING_TYPES(t.scalar_type(), "turned", [&] {
    const scalar_t* from = t.const_data_ptr<scalar_t>();
    scalar_t* to = made.mutable_data_ptr<scalar_t>();
    int64_t rows[kSide];
    for (int64_t c = 0; c < kSide; ++c) rows[c] = c * n;
    const int64_t grain = std::max<int64_t>(1, kTogether / std::max<int64_t>(1, down));
    at::parallel_for(0, across, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin * kSide; c < std::min(m, end * kSide); c += kSide) {
        turn(from + c, m, to + c * n, rows, n, std::min(kSide, m - c));
      }
    });
  });
  return made;
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/turn.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("turned", torchcaps::turned); }
