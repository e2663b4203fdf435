// s = Σ_i c_i u_i W_i for couplings that no image changes, and its gradients. Maps are scaled a block at a time, in the
// cache of the core that multiplies with them; torch would write and read all of them, and share out every product.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <array>
#include <tuple>

#include "pages.h"

namespace torchcaps {
namespace {

using at::Tensor;

constexpr int64_t kHeld = 1 << 18;  // bytes of the maps of a block
constexpr int64_t kRows = 256;      // of u, that are multiplied with a block
constexpr int64_t kParts = 8;       // of the children, where there are fewer rows: no more threads can help

struct Sizes {
  int64_t n, i, x, j, y, own, block;  // own: couplings of a child and a parent, one or one for each number

  Sizes(const Tensor& u, const Tensor& w, const Tensor& c)
      : n(u.size(0)), i(w.size(0)), x(w.size(1)), j(w.size(2)), y(w.size(3)), own(c.size(2)) {
    TORCH_CHECK(w.dim() == 4 && c.dim() == 3, "maps ", w.sizes(), " and couplings ", c.sizes(), " are not (i x j y) and (i j y)");
    TORCH_CHECK(u.dim() == 3 && u.size(1) == i && u.size(2) == x, "children ", u.sizes(), " of maps ", w.sizes());
    TORCH_CHECK(c.size(0) == i && c.size(1) == j && (own == 1 || own == y), "couplings ", c.sizes(), " of ", w.sizes());
    block = std::max<int64_t>(1, kHeld / std::max<int64_t>(1, child() * w.element_size()));
  }

  int64_t jy() const { return j * y; }
  int64_t child() const { return x * jy(); }  // numbers of a child's maps
  int64_t coupled() const { return j * own; }
};

// to = c w of some children.
template <typename T>
void scale(const Sizes& s, const T* w, const T* c, T* to, int64_t children) {
  for (int64_t row = 0; row < children * s.x; ++row) {
    const T* const of = c + row / s.x * s.coupled();
    for (int64_t j = 0; j < s.j; ++j) {
      const int64_t at = row * s.jy() + j * s.y;
#pragma omp simd
      for (int64_t y = 0; y < s.y; ++y) to[at + y] = w[at + y] * of[s.own == 1 ? j : j * s.y + y];
    }
  }
}

// The gradients of couplings from those of scaled maps, which are added up over x, and over y where it has one.
template <typename T>
void add_products(const Sizes& s, const T* g, const T* w, T* to, int64_t children) {
  for (int64_t row = 0; row < children * s.x; ++row) {
    T* const of = to + row / s.x * s.coupled();
    for (int64_t j = 0; j < s.j; ++j) {
      const int64_t at = row * s.jy() + j * s.y;
      if (s.own == 1) {
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t y = 0; y < s.y; ++y) sum += g[at + y] * w[at + y];
        of[j] += sum;
      } else {
        for (int64_t y = 0; y < s.y; ++y) of[j * s.y + y] += g[at + y] * w[at + y];
      }
    }
  }
}

// Calls each(first, count) for blocks of the children from `begin` to `end`.
template <typename Each>
void over_blocks(const Sizes& s, int64_t begin, int64_t end, Each each) {
  for (int64_t k = begin; k < end; k += s.block) each(k, std::min(s.block, end - k));
}

// Rows are cut into tiles and, if these are few, children into parts: never by the number of threads, on which results
// would depend.
Tensor scaled(const Tensor& given_u, const Tensor& given_w, const Tensor& given_c) {
  const Tensor u = given_u.contiguous(), w = given_w.contiguous(), c = given_c.contiguous();
  const Sizes s(u, w, c);
  const int64_t tiles = std::max<int64_t>(1, (s.n + kRows - 1) / kRows), parts = std::max<int64_t>(1, kParts / tiles);
  Tensor sums = at::zeros({parts, s.n, s.jy()}, u.options());
  AT_DISPATCH_FLOATING_TYPES(w.scalar_type(), "scaled", [&] {
    at::parallel_for(0, tiles * parts, 1, [&](int64_t begin, int64_t end) {
      const at::AutoDispatchBelowADInplaceOrView plain;  // the threads of a pool know nothing of autograd
      const Tensor held = at::empty({s.block * s.x, s.jy()}, w.options());
      for (int64_t task = begin; task < end; ++task) {
        const int64_t tile = task / parts, part = task % parts, last = std::min(s.n, (tile + 1) * kRows);
        const Tensor rows = u.slice(0, tile * kRows, last);
        Tensor to = sums[part].slice(0, tile * kRows, last);
        over_blocks(s, s.i * part / parts, s.i * (part + 1) / parts, [&](int64_t k, int64_t count) {
          scale(s, w.const_data_ptr<scalar_t>() + k * s.child(), c.const_data_ptr<scalar_t>() + k * s.coupled(),
                held.mutable_data_ptr<scalar_t>(), count);
          to.addmm_(rows.slice(1, k, k + count).flatten(1), held.slice(0, 0, count * s.x));
        });
      }
    });
  });
  return (parts == 1 ? sums[0] : sums.sum(0)).reshape({s.n, s.j, s.y});
}

// The gradients that are wanted of u, w and c.
std::tuple<Tensor, Tensor, Tensor> scaled_backward(const Tensor& given_g, const Tensor& given_u, const Tensor& given_w,
                                                   const Tensor& given_c, std::array<bool, 3> wanted) {
  const Tensor u = given_u.contiguous(), w = given_w.contiguous(), c = given_c.contiguous();
  const Sizes s(u, w, c);
  TORCH_CHECK(given_g.sizes() == at::IntArrayRef({s.n, s.j, s.y}), "gradients are ", given_g.sizes());
  const Tensor g = given_g.contiguous().flatten(1);
  const Tensor du = wanted[0] ? in_huge_pages(at::empty_like(u)) : Tensor();
  const Tensor dw = wanted[1] ? in_huge_pages(at::empty_like(w)) : Tensor();
  const Tensor dc = wanted[2] ? at::zeros_like(c) : Tensor();
  const int64_t blocks = (s.i + s.block - 1) / s.block;
  AT_DISPATCH_FLOATING_TYPES(w.scalar_type(), "scaled_backward", [&] {
    at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      const at::AutoDispatchBelowADInplaceOrView plain;
      const Tensor held = at::empty({s.block * s.x, s.jy()}, w.options());
      scalar_t* const in = held.mutable_data_ptr<scalar_t>();
      over_blocks(s, begin * s.block, std::min(s.i, end * s.block), [&](int64_t k, int64_t count) {
        const scalar_t* const maps = w.const_data_ptr<scalar_t>() + k * s.child();
        const scalar_t* const couplings = c.const_data_ptr<scalar_t>() + k * s.coupled();
        Tensor block = held.slice(0, 0, count * s.x);
        if (wanted[0]) {
          scale(s, maps, couplings, in, count);
          Tensor to = du.slice(1, k, k + count).flatten(1);
          at::mm_out(to, g, block.t());
        }
        if (!wanted[1] && !wanted[2]) return;
        at::mm_out(block, u.slice(1, k, k + count).flatten(1).t(), g);
        if (wanted[1]) scale(s, in, couplings, dw.mutable_data_ptr<scalar_t>() + k * s.child(), count);
        if (wanted[2]) add_products(s, in, maps, dc.mutable_data_ptr<scalar_t>() + k * s.coupled(), count);
      });
    });
  });
  return {du, dw, dc};
}

}  // namespace
}  // namespace torchcaps

// The schemas are declared in torchcaps/ops/scaled.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("scaled", torchcaps::scaled);
  m.impl("scaled_backward", torchcaps::scaled_backward);
}
