// attend: r = weight * softmax_j(<v, query> + prior), sum_i r v and sum_i r, with votes v = u W + b that never leave
// the cache. The plain pass in torchcaps/ops/attend.py states the same in torch; the tests hold the two together.
#include <torch/library.h>

#include "tiles.h"

namespace torchcaps {
namespace {

template <typename T, int A, int X, int Y>
void forward(const Sizes& s, const Inputs<T>& in, const T* query, T* sum, T* all) {
  const Shape<A, X, Y> shape(s);
  const int64_t p = s.poses(), few = children_at_once(s), a_ = shape.a(), numbers = Tile<T, A, X, Y>::numbers(s);
  at::parallel_for(0, blocks<T>(s), 1, [&](int64_t begin, int64_t end) {
    const int64_t n = std::min(Group::size<T>(s, 2 + few), end - begin);  // blocks for which maps are fetched once
    Scratch<T> scratch((2 * n + 1 + few) * p + (n + few) * s.j + numbers);
    Vec<T>*start = scratch.take(p), *queries = scratch.take(n * p), *outs = scratch.take(n * p);
    Vec<T>*votes = scratch.take(few * p), *r = scratch.take(few * s.j), *masses = scratch.take(n * s.j);
    Vec<T>* us = scratch.take(numbers);
    for (int64_t k = 0; in.bias && k < p; ++k) start[k] = same(in.bias[k]);
    for (Group group{begin, begin}; group.end < end;) {
      group = {group.end, std::min(group.end + n, end)};
      std::fill(outs, outs + n * p, Vec<T>{});
      std::fill(masses, masses + n * s.j, Vec<T>{});
      if (query) pack(query, queries, s, group);  // absent ones are zero
      for (int64_t i = 0; i < s.i; i += few) {
        for (int64_t b = 0; b < group.end - group.begin; ++b) {
          const Vec<T>* q = queries + b * p;
          Vec<T>*out = outs + b * p, *mass = masses + b * s.j;
          const Tile<T, A, X, Y> tile(shape, in, i, s.i, (group.begin + b) * Lanes<T>::n, us);
          tile.begin(r);
          over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
            using C = Columns<T, width, A>;
            const C zero(start + k, a_), qs(q + k, a_);
            for (int64_t c = 0; c < tile.children; ++c) {
              C v = zero;
              tile.vote(c, j, y, a, v);
              v.to(votes + c * p + k, a_);
              Vec<T> logit = r[c * s.j + j];
#pragma GCC unroll 4
              for (int64_t l = 0; l < width; ++l) logit += v[l] * qs[l];
              r[c * s.j + j] = logit;
            }
          });
          for (int64_t c = 0; c < tile.children; ++c) {
            softmax<T>(r + c * s.j, s.j);
            for (int64_t j = 0; j < s.j; ++j) mass[j] += r[c * s.j + j] *= tile.weights[c];
          }
          over_columns(shape, [&](int64_t k, int64_t j, int64_t, int64_t, auto width) {
            using C = Columns<T, width, A>;
            C total(out + k, a_);
            for (int64_t c = 0; c < tile.children; ++c) {
              const C v(votes + c * p + k, a_);
#pragma GCC unroll 4
              for (int64_t l = 0; l < width; ++l) total[l] += r[c * s.j + j] * v[l];
            }
            total.to(out + k, a_);
          });
        }
      }
      unpack(outs, sum, s, group);
      for (int64_t b = 0; b < group.end - group.begin; ++b) {
        const int64_t m = (group.begin + b) * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
        for (int64_t j = 0; j < s.j; ++j) store(all + j * s.m + m, masses[b * s.j + j], count);
      }
    }
  });
}

// Where gradients go: a child's own at once, those that children share into the thread's copies.
template <typename T>
struct Gradients {
  T *u, *w, *weight, *prior;
  T *bias, *query;
};

template <typename T, int A, int X, int Y>
void backward(const Sizes& s, const Inputs<T>& in, const T* query, const T* g_sum, const T* g_mass, bool detach,
              int64_t begin, int64_t end, const Gradients<T>& out) {
  const Shape<A, X, Y> shape(s);
  const int64_t few = children_at_once(s), n = Group::size<T>(s, 3 + few), p = s.poses(), a_ = shape.a();
  const int64_t numbers = Tile<T, A, X, Y>::numbers(s), per = p / s.j;
  Scratch<T> scratch((3 + few) * n * p + p + 2 * few * s.j + (n + 1) * numbers + n * s.a * Lanes<T>::n);
  Vec<T>*queries = scratch.take(n * p), *d_queries = scratch.take(n * p), *gs = scratch.take(n * p);
  Vec<T>*all_dv = scratch.take(few * n * p), *start = scratch.take(p);
  Vec<T>*r = scratch.take(few * s.j), *dr = scratch.take(few * s.j);
  Vec<T>*us = scratch.take(n * numbers), *du = scratch.take(numbers);
  Vec<T>* turned = scratch.take(n * s.a * Lanes<T>::n);
  for (int64_t k = 0; in.bias && k < p; ++k) start[k] = same(in.bias[k]);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    const Pulled all{s.j * s.y, p, !group.begin};
    pack(g_sum, gs, s, group);
    if (query) pack(query, queries, s, group);
    std::fill(d_queries, d_queries + n * p, Vec<T>{});
    for (int64_t i = begin; i < end; i += few) {
      for (int64_t b = 0; b < group.end - group.begin; ++b) {
        const Tile<T, A, X, Y> tile(shape, in, i, end, (group.begin + b) * Lanes<T>::n, us + b * numbers);
        const Vec<T>*q = queries + b * p, *g = gs + b * p;
        Vec<T>*dq = d_queries + b * p, *dvs = all_dv + b * p;  // [c][block][k]; first the votes themselves lie there
        tile.begin(r);
        tile.begin(dr, g_mass);
        over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
          using C = Columns<T, width, A>;
          const C zero(start + k, a_), qs(q + k, a_), g_(g + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            C v = zero;
            tile.vote(c, j, y, a, v);
            v.to(dvs + c * n * p + k, a_);
            Vec<T> logit = r[c * s.j + j], d = dr[c * s.j + j];
#pragma GCC unroll 4
            for (int64_t l = 0; l < width; ++l) {
              logit += v[l] * qs[l];
              d += v[l] * g_[l];
            }
            r[c * s.j + j] = logit;
            dr[c * s.j + j] = d;
          }
        });
        for (int64_t c = 0; c < tile.children; ++c) softmax<T>(r + c * s.j, s.j);
        tile.pull_softmax(r, dr, out.weight, detach ? nullptr : out.prior);
        if (detach) std::fill(dr, dr + few * s.j, Vec<T>{});
        std::fill(du, du + numbers, Vec<T>{});
        const auto columns = [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
          using C = Columns<T, width, A>;
          const C qs(q + k, a_), g_(g + k, a_);
          C sum(dq + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            const Vec<T> share = tile.weights[c] * r[c * s.j + j], dl = dr[c * s.j + j];
            Vec<T>* here = dvs + c * n * p + k;
            C v(here, a_), dv;
#pragma GCC unroll 4
            for (int64_t l = 0; l < width; ++l) {
              sum[l] += dl * v[l];
              dv[l] = share * g_[l] + dl * qs[l];
            }
            dv.to(here, a_);
          }
          sum.to(dq + k, a_);
        };
        over_columns(shape, columns, [&](int64_t j, int64_t a) {
          for (int64_t c = 0; c < tile.children; ++c) tile.pull(c, j, a, dvs + c * n * p + j * per, du);
        });
        tile.give(du, out.u);
      }
      pull_maps(shape, in, i, std::min(few, end - i), group, n, us, all_dv, 0, all, out.w, turned);
      for (int64_t c = 0; out.bias && c < std::min(few, end - i); ++c) {
        pull_bias(p, group.end - group.begin, all_dv + c * n * p, out.bias);
      }
    }
    if (query) unpack(d_queries, out.query, s, group);
  }
}

std::tuple<Tensor, Tensor> attend(const Tensor& u, const Tensor& w, const OptTensor& bias, const OptTensor& query,
                                  const OptTensor& prior, const OptTensor& weight, int64_t j, bool detach) {
  if (is_half(u)) {
    return narrow(u, attend(single(u), single(w), single(bias), single(query), single(prior), single(weight), j, detach));
  }
  const Sizes s = sizes_of(u, w, bias, prior, weight, j);
  expect_poses("query", query, u, s);
  Tensor sum = at::empty({s.j, s.y, s.a, s.m}, u.options()), mass = at::empty({s.j, s.m}, u.options());
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "attend", [&] {
    const Inputs<scalar_t> in(u, w, bias, prior, weight);
    TORCHCAPS_FOR_SHAPE(
        [&] { forward<scalar_t, A, X, Y>(s, in, data<scalar_t>(query), room<scalar_t>(sum), room<scalar_t>(mass)); });
  });
  return {sum, mass};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> attend_backward(
    const Tensor& g_sum, const Tensor& g_mass, const Tensor& u, const Tensor& w, const OptTensor& bias,
    const OptTensor& query, const OptTensor& prior, const OptTensor& weight, int64_t j, bool detach) {
  if (is_half(u)) {
    return narrow(u, attend_backward(single(g_sum), single(g_mass), single(u), single(w), single(bias), single(query),
                                     single(prior), single(weight), j, detach));
  }
  const Sizes s = sizes_of(u, w, bias, prior, weight, j);
  expect_poses("query", query, u, s);
  expect_poses("g_sum", g_sum, u, s);
  expect_mass("g_mass", g_mass, u, s);
  const Shares shares(u);
  auto empty_like = [&](const OptTensor& t) { return t ? at::empty_like(*t) : at::empty({0}, u.options()); };
  Tensor du = in_huge_pages(at::empty_like(u)), dw = maps_like(w, s);
  Tensor dweight = empty_like(weight);
  Tensor dbias = shares.copies(bias), dquery = shares.unset(query), dprior = shares.copies(prior);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "attend_backward", [&] {
    const Inputs<scalar_t> in(u, w, bias, prior, weight);
    at::parallel_for(0, shares.count, 1, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        const Gradients<scalar_t> out{room<scalar_t>(du),
                                      room<scalar_t>(dw),
                                      room<scalar_t>(dweight),
                                      Shares::row<scalar_t>(dprior, in.prior_of_child ? 0 : k),
                                      Shares::row<scalar_t>(dbias, k),
                                      Shares::row<scalar_t>(dquery, k)};
        TORCHCAPS_FOR_SHAPE([&] {
          backward<scalar_t, A, X, Y>(s, in, data<scalar_t>(query), g_sum.const_data_ptr<scalar_t>(),
                                      g_mass.const_data_ptr<scalar_t>(), detach, s.i * k / shares.count,
                                      s.i * (k + 1) / shares.count, out);
        });
      }
    });
  });
  return {du, dw, shares.sum(dbias, bias), shares.sum(dquery, query), shares.sum(dprior, prior), dweight};
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/operators.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("attend", torchcaps::attend);
  m.impl("attend_backward", torchcaps::attend_backward);
}
