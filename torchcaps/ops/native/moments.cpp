// moments: r = weight * softmax_j(<v, query> - sum_d precision x^2 + prior) with x = v - centre, and sum_i r, sum_i r
// x, sum_i r x^2, with votes v = u W + b that never leave the cache. The plain pass is torchcaps/ops/moments.py.
#include <torch/library.h>

#include "votes.h"

namespace torchcaps {
namespace {

// The parents' poses that the couplings depend on; an absent one is null.
template <typename T>
struct Parents {
  const T *centre, *query, *precision;
};

template <typename T, int A, int X, int Y>
void forward(const Sizes& s, const Inputs<T>& in, const Parents<T>& of, T* mass, T* first, T* second) {
  const Shape<A, X, Y> shape(s);
  const int64_t lanes = Lanes<T>::n, p = s.poses(), per = p / s.j;
  at::parallel_for(0, blocks<T>(s), 1, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(6 * p + 2 * s.j + s.x * s.a);
    Vec<T>*centre = scratch.take(p), *q = scratch.take(p), *h = scratch.take(p), *xs = scratch.take(p);
    Vec<T>*s1 = scratch.take(p), *s2 = scratch.take(p), *r = scratch.take(s.j), *s0 = scratch.take(s.j);
    Child<T, A, X, Y> child(scratch, s);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block * lanes, count = std::min(lanes, s.m - m);
      std::fill(s0, s0 + s.j, Vec<T>{});
      for (int64_t k = 0; k < p; ++k) {
        s1[k] = s2[k] = Vec<T>{};
        centre[k] = load(of.centre + k * s.m + m, count);
        if (of.query) q[k] = load(of.query + k * s.m + m, count);
        if (of.precision) h[k] = load(of.precision + k * s.m + m, count);
      }
      for (int64_t i = 0; i < s.i; ++i) {
        vote<Logit<T>>(
            shape, in, i, m, count, child,
            [&](int64_t k, Vec<T> v, Logit<T>& sums) {
              const Vec<T> x = v - centre[k];
              xs[k] = x;
              sums.logit += v * q[k] - x * x * h[k];  // absent ones are zero
            },
            [&](int64_t j, const Logit<T>& sums) { r[j] = sums.logit; });
        softmax<T>(r, s.j);
        const Vec<T> weight = in.weight_at(i, m, count, s);
        for (int64_t j = 0; j < s.j; ++j) {
          const Vec<T> share = r[j] * weight;
          s0[j] += share;
          for (int64_t k = j * per; k < (j + 1) * per; ++k) {
            const Vec<T> rx = share * xs[k];
            s1[k] += rx;
            s2[k] += rx * xs[k];
          }
        }
      }
      for (int64_t j = 0; j < s.j; ++j) store(mass + j * s.m + m, s0[j], count);
      for (int64_t k = 0; k < p; ++k) {
        store(first + k * s.m + m, s1[k], count);
        store(second + k * s.m + m, s2[k], count);
      }
    }
  });
}

// Where gradients go: a child's own at once, those that children share into the thread's copies.
template <typename T>
struct Gradients {
  T *u, *w, *weight, *prior;
  T *bias, *centre, *query, *precision;
};

template <typename T, int A, int X, int Y>
void backward(const Sizes& s, const Inputs<T>& in, const Parents<T>& of, const T* g_mass, const T* g_first,
              const T* g_second, int64_t begin, int64_t end, const Gradients<T>& out) {
  const Shape<A, X, Y> shape(s);
  const int64_t lanes = Lanes<T>::n, n = Group::size<T>(s, 9), p = s.poses(), xa = s.x * s.a;
  Scratch<T> scratch(9 * n * p + 2 * p + 2 * s.j + 2 * xa + n * s.a * lanes);
  Vec<T>*centres = scratch.take(n * p), *queries = scratch.take(n * p), *precisions = scratch.take(n * p);
  Vec<T>*d_centres = scratch.take(n * p), *d_queries = scratch.take(n * p), *d_precisions = scratch.take(n * p);
  Vec<T>*firsts = scratch.take(n * p), *seconds = scratch.take(n * p), *dvs = scratch.take(n * p);
  Vec<T>*votes = scratch.take(p), *xs = scratch.take(p), *c = scratch.take(s.j), *dr = scratch.take(s.j);
  Vec<T>* turned = scratch.take(n * s.a * lanes);
  Child<T, A, X, Y> child(scratch, s), du(scratch, s);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    pack(of.centre, centres, s, group);
    pack(g_first, firsts, s, group);
    pack(g_second, seconds, s, group);
    if (of.query) pack(of.query, queries, s, group);
    if (of.precision) pack(of.precision, precisions, s, group);
    for (Vec<T>* sums : {d_centres, d_queries, d_precisions}) std::fill(sums, sums + n * p, Vec<T>{});
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t block = group.begin; block < group.end; ++block) {
        const int64_t m = block * lanes, count = std::min(lanes, s.m - m), at = (block - group.begin) * p;
        const Vec<T>*centre = centres + at, *q = queries + at, *h = precisions + at, *g1 = firsts + at;
        const Vec<T>* g2 = seconds + at;
        Vec<T>*d_centre = d_centres + at, *dq = d_queries + at, *dh = d_precisions + at;
        vote<LogitAndGradient<T>>(
            shape, in, i, m, count, child,
            [&](int64_t k, Vec<T> v, LogitAndGradient<T>& sums) {
              const Vec<T> x = v - centre[k];
              votes[k] = v;
              xs[k] = x;
              sums.logit += v * q[k] - x * x * h[k];
              sums.gradient += x * (g1[k] + x * g2[k]);
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
          const Vec<T> share = c[j] * weight, dl = share * (dr[j] - mean);
          pull_vote(shape, in, i, j, du, dvs + at, [&](int64_t k) {
            const Vec<T> x = xs[k], lx = dl * x;
            const Vec<T> dx = share * (g1[k] + T(2) * g2[k] * x) - T(2) * lx * h[k];
            d_centre[k] -= dx;
            dh[k] -= lx * x;
            dq[k] += dl * votes[k];
            return dx + dl * q[k];
          });
          if (out.prior) in.add_to_prior(out.prior, i, j, m, dl, count, s);
        }
#pragma GCC unroll 16
        for (int64_t k = 0; k < shape.x() * shape.a(); ++k) store(out.u + (i * xa + k) * s.m + m, du[k], count);
      }
      pull_maps(shape, in, i, group, dvs, out.w, turned);
      if (out.bias) pull_bias(s, group, dvs, out.bias);
    }
    unpack(d_centres, out.centre, s, group);
    if (of.query) unpack(d_queries, out.query, s, group);
    if (of.precision) unpack(d_precisions, out.precision, s, group);
  }
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
      forward<scalar_t, A, X, Y>(s, in, of, room<scalar_t>(mass), room<scalar_t>(first), room<scalar_t>(second));
    });
  });
  return {mass, first, second};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> moments_backward(
    const Tensor& g_mass, const Tensor& g_first, const Tensor& g_second, const Tensor& u, const Tensor& w,
    const OptTensor& bias, const Tensor& centre, const OptTensor& query, const OptTensor& precision,
    const OptTensor& prior, const OptTensor& weight, int64_t j) {
  if (is_half(u)) {
    return narrow(u, moments_backward(single(g_mass), single(g_first), single(g_second), single(u), single(w),
                                      single(bias), single(centre), single(query), single(precision), single(prior),
                                      single(weight), j));
  }
  const Sizes s = sizes_of(u, w, bias, prior, weight, j);
  expect_poses("centre", centre, u, s);
  expect_poses("query", query, u, s);
  expect_poses("precision", precision, u, s);
  expect_mass("g_mass", g_mass, u, s);
  expect_poses("g_first", g_first, u, s);
  expect_poses("g_second", g_second, u, s);
  const Shares shares(u);
  Tensor du = at::empty_like(u), dw = at::zeros_like(w);
  Tensor dweight = weight ? at::empty_like(*weight) : at::empty({0}, u.options());
  Tensor dbias = shares.copies(bias), dprior = shares.copies(prior), dcentre = shares.copies(centre);
  Tensor dquery = shares.copies(query), dprecision = shares.copies(precision);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "moments_backward", [&] {
    const Inputs<scalar_t> in(u, w, bias, prior, weight);
    const Parents<scalar_t> of{centre.const_data_ptr<scalar_t>(), data<scalar_t>(query), data<scalar_t>(precision)};
    at::parallel_for(0, shares.count, 1, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        const Gradients<scalar_t> out{room<scalar_t>(du),
                                      room<scalar_t>(dw),
                                      room<scalar_t>(dweight),
                                      Shares::row<scalar_t>(dprior, in.prior_of_child ? 0 : k),
                                      Shares::row<scalar_t>(dbias, k),
                                      Shares::row<scalar_t>(dcentre, k),
                                      Shares::row<scalar_t>(dquery, k),
                                      Shares::row<scalar_t>(dprecision, k)};
        TORCHCAPS_FOR_SHAPE([&] {
          backward<scalar_t, A, X, Y>(s, in, of, g_mass.const_data_ptr<scalar_t>(), g_first.const_data_ptr<scalar_t>(),
                                      g_second.const_data_ptr<scalar_t>(), s.i * k / shares.count,
                                      s.i * (k + 1) / shares.count, out);
        });
      }
    });
  });
  return {du,
          dw,
          shares.sum(dbias, bias),
          shares.sum(dcentre, centre),
          shares.sum(dquery, query),
          shares.sum(dprecision, precision),
          shares.sum(dprior, prior),
          dweight};
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/operators.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("moments", torchcaps::moments);
  m.impl("moments_backward", torchcaps::moments_backward);
}
