// attend: r = weight * softmax_j(<v, query> + prior), sum_i r v and sum_i r, with votes v = u W + b that never leave
// the cache. The plain pass in torchcaps/ops/attend.py states the same in torch; the tests hold the two together.
#include <torch/library.h>

#include "votes.h"

namespace torchcaps {
namespace {

template <typename T, int A, int X, int Y>
void forward(const Sizes& s, const Inputs<T>& in, const T* query, T* sum, T* mass) {
  const Shape<A, X, Y> shape(s);
  const int64_t lanes = Lanes<T>::n, p = s.poses(), per = p / s.j;
  at::parallel_for(0, blocks<T>(s), 1, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(4 * p + 3 * s.j + s.x * s.a);
    Vec<T>*q = scratch.take(p), *votes = scratch.take(2 * p), *out = scratch.take(p);
    Vec<T>*r = scratch.take(2 * s.j), *all = scratch.take(s.j);
    Child<T, A, X, Y> child(scratch, s);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block * lanes, count = std::min(lanes, s.m - m);
      std::fill(out, out + p, Vec<T>{});
      std::fill(all, all + s.j, Vec<T>{});
      for (int64_t k = 0; query && k < p; ++k) q[k] = load(query + k * s.m + m, count);
      for (int64_t i = 0; i < s.i; i += 2) {  // two children at a time, so that sums are fetched half as often
        for (int64_t c = 0; c < 2; ++c) {
          Vec<T>*vs = votes + c * p, *share = r + c * s.j;
          if (i + c == s.i) {  // no such child: whatever votes lie there have no weight
            std::fill(share, share + s.j, Vec<T>{});
            break;
          }
          vote<Logit<T>>(
              shape, in, i + c, m, count, child,
              [&](int64_t k, Vec<T> v, Logit<T>& sums) {
                vs[k] = v;
                sums.logit += v * q[k];  // without a query q is zero
              },
              [&](int64_t j, const Logit<T>& sums) { share[j] = sums.logit; });
          softmax<T>(share, s.j);
          const Vec<T> weight = in.weight_at(i + c, m, count, s);
          for (int64_t j = 0; j < s.j; ++j) share[j] *= weight;
        }
        for (int64_t j = 0; j < s.j; ++j) {
          const Vec<T> one = r[j], two = r[s.j + j];
          all[j] += one + two;
          for (int64_t k = j * per; k < (j + 1) * per; ++k) out[k] += one * votes[k] + two * votes[p + k];
        }
      }
      for (int64_t k = 0; k < p; ++k) store(sum + k * s.m + m, out[k], count);
      for (int64_t j = 0; j < s.j; ++j) store(mass + j * s.m + m, all[j], count);
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
  const int64_t lanes = Lanes<T>::n, n = Group::size<T>(s, 4), p = s.poses(), xa = s.x * s.a;
  Scratch<T> scratch(4 * n * p + p + 2 * s.j + 2 * xa + n * s.a * lanes);
  Vec<T>*queries = scratch.take(n * p), *d_queries = scratch.take(n * p), *gs = scratch.take(n * p);
  Vec<T>*dvs = scratch.take(n * p), *votes = scratch.take(p), *c = scratch.take(s.j), *dr = scratch.take(s.j);
  Vec<T>* turned = scratch.take(n * s.a * lanes);
  Child<T, A, X, Y> child(scratch, s), du(scratch, s);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    pack(g_sum, gs, s, group);
    if (query) pack(query, queries, s, group);
    std::fill(d_queries, d_queries + n * p, Vec<T>{});
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t block = group.begin; block < group.end; ++block) {
        const int64_t m = block * lanes, count = std::min(lanes, s.m - m), at = (block - group.begin) * p;
        const Vec<T>*q = queries + at, *g = gs + at;
        Vec<T>* dq = d_queries + at;
        vote<LogitAndGradient<T>>(
            shape, in, i, m, count, child,
            [&](int64_t k, Vec<T> v, LogitAndGradient<T>& sums) {
              votes[k] = v;
              sums.logit += v * q[k];
              sums.gradient += v * g[k];
            },
            [&](int64_t j, const LogitAndGradient<T>& sums) {
              c[j] = sums.logit;
              dr[j] = sums.gradient + load(g_mass + j * s.m + m, count);
            });
        softmax<T>(c, s.j);
        const Vec<T> weight = in.weight_at(i, m, count, s);
        Vec<T> mean{};
        for (int64_t j = 0; j < s.j; ++j) mean += c[j] * dr[j];
        if (out.weight) store(out.weight + i * s.m + m, mean, count);
#pragma GCC unroll 16
        for (int64_t k = 0; k < shape.x() * shape.a(); ++k) du[k] = Vec<T>{};
        for (int64_t j = 0; j < s.j; ++j) {
          const Vec<T> share = c[j] * weight, dl = detach ? Vec<T>{} : share * (dr[j] - mean);
          pull_vote(shape, in, i, j, du, dvs + at, [&](int64_t k) {
            dq[k] += dl * votes[k];
            return share * g[k] + dl * q[k];
          });
          if (out.prior) in.add_to_prior(out.prior, i, j, m, dl, count, s);
        }
#pragma GCC unroll 16
        for (int64_t k = 0; k < shape.x() * shape.a(); ++k) store(out.u + (i * xa + k) * s.m + m, du[k], count);
      }
      pull_maps(shape, in, i, group, dvs, out.w, turned);
      if (out.bias) pull_bias(s, group, dvs, out.bias);
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
  Tensor du = at::empty_like(u), dw = at::zeros_like(w), dweight = empty_like(weight);
  Tensor dbias = shares.copies(bias), dquery = shares.copies(query), dprior = shares.copies(prior);
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
