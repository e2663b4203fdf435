// moments: r = weight * softmax_j(<v, query> - sum_d precision x^2 + prior) with x = v - centre, and sum_i r, sum_i r
// x, sum_i r x^2, with votes v = u W + b that never leave the cache. The plain pass is torchcaps/ops/moments.py.
#include <torch/library.h>

#include "moments.h"

namespace torchcaps {
namespace {

template <typename T, int A, int X, int Y, bool Fixed>
void forward(const Sizes& s, const Inputs<T>& in, const Parents<T>& of, T* mass, T* first, T* second) {
  const Shape<A, X, Y> shape(s);
  const int64_t p = s.poses(), few = children_at_once(s), a_ = shape.a();
  at::parallel_for(0, blocks<T>(s), 1, [&](int64_t begin, int64_t end) {
    const int64_t numbers = Tile<T, A, X, Y>::numbers(s);
    Scratch<T> scratch(Poses<T>::room(s, 1) + (2 + few) * p + (1 + few) * s.j + numbers);
    Poses<T> poses(scratch, s, 1);
    Vec<T>*s0 = scratch.take(s.j), *s1 = scratch.take(p), *s2 = scratch.take(p), *r = scratch.take(few * s.j);
    Vec<T>*xs = scratch.take(few * p), *us = scratch.take(numbers);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
      std::fill(s0, s0 + s.j, Vec<T>{});
      std::fill(s1, s1 + p, Vec<T>{});
      std::fill(s2, s2 + p, Vec<T>{});
      poses.fill(in, of, s, {block, block + 1});
      for (int64_t i = 0; i < s.i; i += few) {
        const Tile<T, A, X, Y> tile(shape, in, i, s.i, m, us);
        tile.begin(r, poses.base);
        if constexpr (!Fixed) {
          over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
            using C = Columns<T, width, A>;
            const C start(poses.offset + k, a_), h(poses.precision + k, a_);
            for (int64_t c = 0; c < tile.children; ++c) {
              C x = start;
              tile.vote(c, j, y, a, x);
              x.to(xs + c * p + k, a_);
              Vec<T> logit = r[c * s.j + j];
#pragma GCC unroll 4
              for (int64_t n = 0; n < width; ++n) logit -= x[n] * x[n] * h[n];  // an absent precision is zero
              if (of.query) {
                for (int64_t n = 0; n < width; ++n) logit += x[n] * poses.query[k + n * a_];
              }
              r[c * s.j + j] = logit;
            }
          });
        }
        for (int64_t c = 0; c < tile.children; ++c) {
          softmax<T>(r + c * s.j, s.j);
          for (int64_t j = 0; j < s.j; ++j) s0[j] += r[c * s.j + j] *= tile.weights[c];
        }
        over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
          using C = Columns<T, width, A>;
          const C start(poses.offset + k, a_);
          C sum1(s1 + k, a_), sum2(s2 + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            C x = start;
            if constexpr (Fixed) {
              tile.vote(c, j, y, a, x);
            } else {
              x = C(xs + c * p + k, a_);
            }
#pragma GCC unroll 4
            for (int64_t n = 0; n < width; ++n) {
              const Vec<T> rx = r[c * s.j + j] * x[n];
              sum1[n] += rx;
              sum2[n] += rx * x[n];
            }
          }
          sum1.to(s1 + k, a_);
          sum2.to(s2 + k, a_);
        });
      }
      for (int64_t j = 0; j < s.j; ++j) store(mass + j * s.m + m, s0[j], count);
      unpack(s1, first, s, {block, block + 1});
      unpack(s2, second, s, {block, block + 1});
    }
  });
}

std::tuple<Tensor, Tensor, Tensor> moments(const Tensor& u, const Tensor& w, const OptTensor& bias,
                                           const Tensor& centre, const OptTensor& query, const OptTensor& precision,
                                           const OptTensor& prior, const OptTensor& weight, int64_t j) {
  if (is_half(u)) {
    return narrow(u, moments(single(u), single(w), single(bias), single(centre), single(query), single(precision),
                             single(prior), single(weight), j));
  }
  const Sizes s = sizes_of(u, w, bias, prior, weight, j);
  expect_poses("centre", centre, u, s);
  expect_poses("query", query, u, s);
  expect_poses("precision", precision, u, s);
  Tensor mass = at::empty({s.j, s.m}, u.options()), first = at::empty({s.j, s.y, s.a, s.m}, u.options());
  Tensor second = at::empty_like(first);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "moments", [&] {
    const Inputs<scalar_t> in(u, w, bias, prior, weight);
    const Parents<scalar_t> of{centre.const_data_ptr<scalar_t>(), data<scalar_t>(query), data<scalar_t>(precision)};
    TORCHCAPS_FOR_SHAPE([&] {
      const auto pass = of.fixed() ? forward<scalar_t, A, X, Y, true> : forward<scalar_t, A, X, Y, false>;
      pass(s, in, of, room<scalar_t>(mass), room<scalar_t>(first), room<scalar_t>(second));
    });
  });
  return {mass, first, second};
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/operators.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("moments", torchcaps::moments); }
