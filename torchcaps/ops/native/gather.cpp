// The children of every window in the order that the passes want, straight from where they lie, and their gradients back.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include "buffers.h"
#include "turn.h"

namespace torchcaps {
namespace {

using at::Tensor;

struct Reach {
  int64_t b, p, n, d, rows;  // images, positions, types, numbers of a pose, its rows
  int64_t above, k;          // parent positions, and positions of a window

  int64_t m() const { return above * b; }
  int64_t x() const { return d / rows; }
  int64_t image() const { return p * n * d; }

  // Where the instances of each number of a pose begin: columns of a pose lie apart, its rows side by side.
  std::vector<int64_t> order() const {
    std::vector<int64_t> order(d);
    for (int64_t e = 0; e < d; ++e) order[e] = (e % x() * rows + e / x()) * m();
    return order;
  }
};

Reach reach_of(at::IntArrayRef pose, const Tensor& index, int64_t rows) {
  TORCH_CHECK(pose.size() == 5 && index.dim() == 3, "capsules are ", pose, " but must be (b h w n d)");
  TORCH_CHECK(rows > 0 && pose[4] % rows == 0, "a pose of ", pose[4], " numbers cannot have ", rows, " rows");
  for (const int64_t side : pose) TORCH_CHECK_VALUE(side >= 0, "capsules are ", pose, " but no side is negative");
  return {pose[0], pose[1] * pose[2], pose[3], pose[4], rows, index.size(0) * index.size(1), index.size(2)};
}

// The positions at the places of windows. They are far fewer than the numbers that are moved, so all are looked at.
const int64_t* places_of(const Tensor& index) {
  const int64_t* const places = index.const_data_ptr<int64_t>();
  int64_t least = 0;
  for (int64_t k = 0; k < index.numel(); ++k) least = std::min(least, places[k]);
  TORCH_CHECK_VALUE(least >= 0, "place ", least, " of a window must be at least 0");
  return places;
}

Tensor gathered(const Tensor& given, const Tensor& where, int64_t rows) {
  const Tensor pose = given.contiguous(), index = where.contiguous();
  const Reach s = reach_of(pose.sizes(), index, rows);
  Tensor made = result({s.k * s.n, s.x(), s.rows, s.m()}, pose);
  AT_DISPATCH_FLOATING_TYPES(pose.scalar_type(), "gathered", [&] {
    const scalar_t* const from = pose.const_data_ptr<scalar_t>();
    const int64_t* const places = places_of(index);
    scalar_t* const to = made.mutable_data_ptr<scalar_t>();
    const auto order = s.order();
    at::parallel_for(0, s.k * s.n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t q = 0; q < s.above; ++q) {
          const int64_t p = places[q * s.k + i / s.n];
          scalar_t* const first = to + i * s.d * s.m() + q * s.b;
          if (p < s.p) {
            turn(from + (p * s.n + i % s.n) * s.d, s.image(), first, order.data(), s.b, s.d);
          } else {
            for (const int64_t row : order) std::fill_n(first + row, s.b, scalar_t(0));
          }
        }
      }
    });
  });
  return made;
}

// Children lie in several windows: a thread has all windows of a type, so that no two add to one number.
Tensor ungathered(const Tensor& given, const Tensor& where, at::IntArrayRef shape, int64_t rows) {
  const Tensor g = given.contiguous(), index = where.contiguous();
  const Reach s = reach_of(shape, index, rows);
  TORCH_CHECK(g.sizes() == at::IntArrayRef({s.k * s.n, s.x(), s.rows, s.m()}), "gradients are ", g.sizes());
  Tensor made = at::zeros(shape, g.options());
  AT_DISPATCH_FLOATING_TYPES(g.scalar_type(), "ungathered", [&] {
    const scalar_t* const from = g.const_data_ptr<scalar_t>();
    const int64_t* const places = places_of(index);
    scalar_t* const to = made.mutable_data_ptr<scalar_t>();
    const auto order = s.order();
    at::parallel_for(0, s.n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t type = begin; type < end; ++type) {
        for (int64_t k = 0; k < s.k; ++k) {
          const scalar_t* const child = from + (k * s.n + type) * s.d * s.m();
          for (int64_t q = 0; q < s.above; ++q) {
            const int64_t p = places[q * s.k + k];
            if (p < s.p) add_turned(child + q * s.b, order.data(), to + (p * s.n + type) * s.d, s.image(), s.b, s.d);
          }
        }
      }
    });
  });
  return made;
}

}  // namespace
}  // namespace torchcaps

// The schemas are declared in torchcaps/ops/gather.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("gathered", torchcaps::gathered);
  m.impl("ungathered", torchcaps::ungathered);
}
