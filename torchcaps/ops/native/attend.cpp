// attend: r = weight * softmax_j(<v, query> + prior), sum_i r v and sum_i r, with votes v = u W + b that never leave the
// cache. The plain pass in torchcaps/ops/attend.py states the same in torch; the tests hold the two together.
#include <torch/library.h>

#include "votes.h"

namespace torchcaps {
namespace {

template <typename T, int A, int X, int Y>
void forward(const Sizes& s, const Inputs<T>& in, const T* query, T* sum, T* mass) {
  const Shape<A, X, Y> shape(s);
  const int64_t lanes = Lanes<T>::n, p = s.poses(), per = p / s.j;
  at::parallel_for(0, blocks<T>(s), 1, [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(3 * p + 2 * s.j + s.x * s.a);
    Vec<T>*q = scratch.take(p), *votes = scratch.take(p), *out = scratch.take(p);
    Vec<T>*r = scratch.take(s.j), *all = scratch.take(s.j);
    Child<T, A, X, Y> child(scratch, s);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block * lanes, count = std::min(lanes, s.m - m);
      std::fill(out, out + p, Vec<T>{});
      std::fill(all, all + s.j, Vec<T>{});
      for (int64_t k = 0; query && k < p; ++k) q[k] = load(query + k * s.m + m, count);
      for (int64_t i = 0; i < s.i; ++i) {
        vote(shape, in, i, m, count, child, r, [&](int64_t k, Vec<T> v) {
          votes[k] = v;
          return v * q[k];  // without a query q is zero
        });
        softmax<T>(r, s.j);
        const Vec<T> weight = in.weight_at(i, m, count, s);
        for (int64_t j = 0; j < s.j; ++j) {
          const Vec<T> share = r[j] * weight;
          all[j] += share;
          for (int64_t k = j * per; k < (j + 1) * per; ++k) out[k] += share * votes[k];
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
  const int64_t lanes = Lanes<T>::n, n = blocks<T>(s), p = s.poses(), per = p / s.j, xa = s.x * s.a;
  Scratch<T> scratch(4 * n * p + p + 2 * s.j + 2 * xa);
  Vec<T>*queries = scratch.take(n * p), *d_queries = scratch.take(n * p), *gs = scratch.take(n * p);
  Vec<T>*dvs = scratch.take(n * p), *votes = scratch.take(p), *c = scratch.take(s.j), *dr = scratch.take(s.j);
  Child<T, A, X, Y> child(scratch, s), du(scratch, s);
  pack(g_sum, gs, s);
  if (query) pack(query, queries, s);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t block = 0; block < n; ++block) {
      const int64_t m = block * lanes, count = std::min(lanes, s.m - m);
      const Vec<T>*q = queries + block * p, *g = gs + block * p;
      Vec<T>* dq = d_queries + block * p;
      vote(shape, in, i, m, count, child, c, [&](int64_t k, Vec<T> v) {
        votes[k] = v;
        return v * q[k];
      });
      softmax<T>(c, s.j);
      const Vec<T> weight = in.weight_at(i, m, count, s);
      Vec<T> mean{};
      for (int64_t j = 0; j < s.j; ++j) {
        Vec<T> d = load(g_mass + j * s.m + m, count);
        for (int64_t k = j * per; k < (j + 1) * per; ++k) d += votes[k] * g[k];
        dr[j] = d;
        mean += c[j] * d;
      }
      if (out.weight) store(out.weight + i * s.m + m, mean, count);
#pragma GCC unroll 16
      for (int64_t k = 0; k < shape.x() * shape.a(); ++k) du[k] = Vec<T>{};
      for (int64_t j = 0; j < s.j; ++j) {
        const Vec<T> share = c[j] * weight, dl = detach ? Vec<T>{} : share * (dr[j] - mean);
        pull_vote(shape, in, i, j, du, dvs + block * p, [&](int64_t k) {
          dq[k] += dl * votes[k];
          return share * g[k] + dl * q[k];
        });
        if (out.prior) in.add_to_prior(out.prior, i, j, m, dl, count, s);
      }
#pragma GCC unroll 16
      for (int64_t k = 0; k < shape.x() * shape.a(); ++k) store(out.u + (i * xa + k) * s.m + m, du[k], count);
    }
    pull_maps(shape, in, i, dvs, out.w, out.bias, du);
  }
  if (query) unpack(d_queries, out.query, s);
}

std::tuple<Tensor, Tensor> attend(const Tensor& u, const Tensor& w, const OptTensor& bias, const OptTensor& query,
                                  const OptTensor& prior, const OptTensor& weight, int64_t j, bool /*detach*/) {
  const Sizes s = sizes_of(u, w, j);
  Tensor sum = at::empty({s.j, s.y, s.a, s.m}, u.options()), mass = at::empty({s.j, s.m}, u.options());
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "attend", [&] {
    const Inputs<scalar_t> in(u, w, bias, prior, weight);
    TORCHCAPS_FOR_SHAPE([&] {
      forward<scalar_t, A, X, Y>(s, in, data<scalar_t>(query), room<scalar_t>(sum), room<scalar_t>(mass));
    });
  });
  return {sum, mass};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> attend_backward(
    const Tensor& g_sum, const Tensor& g_mass, const Tensor& u, const Tensor& w, const OptTensor& bias,
    const OptTensor& query, const OptTensor& prior, const OptTensor& weight, int64_t j, bool detach) {
  const Sizes s = sizes_of(u, w, j);
  const Shares shares(u);
  auto empty_like = [&](const OptTensor& t) { return t ? at::empty_like(*t) : at::empty({0}, u.options()); };
  Tensor du = at::empty_like(u), dw = at::empty_like(w), dweight = empty_like(weight);
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
  return {du,      dw, shares.sum(dbias, bias), shares.sum(dquery, query), shares.sum(dprior, prior),
          dweight};
}

}  // namespace
}  // namespace torchcaps

TORCH_LIBRARY_FRAGMENT(torchcaps, m) {
  m.def(
      "attend(Tensor u, Tensor w, Tensor? bias, Tensor? query, Tensor? prior, Tensor? weight, int j, bool detach) -> "
      "(Tensor, Tensor)");
  m.def(
      "attend_backward(Tensor g_sum, Tensor g_mass, Tensor u, Tensor w, Tensor? bias, Tensor? query, Tensor? prior, "
      "Tensor? weight, int j, bool detach) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("attend", torchcaps::attend);
  m.impl("attend_backward", torchcaps::attend_backward);
}
