// moments: r = weight * softmax_j(<v, query> - sum_d precision x^2 + prior) with x = v - centre, and sum_i r, sum_i r
// x, sum_i r x^2, with votes v = u W + b that never leave the cache. The plain pass is torchcaps/ops/moments.py.
#include <torch/library.h>

#include "tiles.h"

namespace torchcaps {
namespace {

// The parents' poses that the couplings depend on; an absent one is null.
template <typename T>
struct Parents {
  const T *centre, *query, *precision;

  bool fixed() const { return !query && !precision; }  // couplings, which are the same then whatever the votes
};

// The poses of n blocks of instances. x begins as offset = bias - centre, and a vote is added; a logit begins with the
// prior and base = <centre, query>, and the rest of it is a function of x.
template <typename T>
struct Poses {
  Vec<T> *offset, *query, *precision, *base;

  Poses(Scratch<T>& scratch, const Sizes& s, int64_t n)
      : offset(scratch.take(n * s.poses())),
        query(scratch.take(n * s.poses())),
        precision(scratch.take(n * s.poses())),
        base(scratch.take(n * s.j)) {}
  static int64_t room(const Sizes& s, int64_t n) { return n * (3 * s.poses() + s.j); }

  Poses from(int64_t block, const Sizes& s) const {
    Poses at = *this;
    for (Vec<T>** pose : {&at.offset, &at.query, &at.precision}) *pose += block * s.poses();
    at.base += block * s.j;
    return at;
  }

  void fill(const Inputs<T>& in, const Parents<T>& of, const Sizes& s, const Group& group) {
    const int64_t p = s.poses(), per = p / s.j, n = group.end - group.begin;
    pack(of.centre, offset, s, group);
    if (of.precision) pack(of.precision, precision, s, group);
    if (of.query) {
      pack(of.query, query, s, group);
      std::fill(base, base + n * s.j, Vec<T>{});
      for (int64_t k = 0; k < n * p; ++k) base[k / per] += offset[k] * query[k];
    }
    for (int64_t k = 0; k < n * p; ++k) offset[k] = (in.bias ? in.bias[k % p] : T(0)) - offset[k];
  }
};

template <typename T, int A, int X, int Y, bool Fixed>
void forward(const Sizes& s, const Inputs<T>& in, const Parents<T>& of, T* mass, T* first, T* second) {
  const Shape<A, X, Y> shape(s);
  const int64_t p = s.poses(), a_ = shape.a();
  at::parallel_for(0, blocks<T>(s), 1, [&](int64_t begin, int64_t end) {
    const int64_t numbers = Tile<T, A, X, Y>::numbers(s);
    Scratch<T> scratch(Poses<T>::room(s, 1) + (2 + kChildren) * p + (1 + kChildren) * s.j + numbers);
    Poses<T> poses(scratch, s, 1);
    Vec<T>*s0 = scratch.take(s.j), *s1 = scratch.take(p), *s2 = scratch.take(p), *r = scratch.take(kChildren * s.j);
    Vec<T>*xs = scratch.take(kChildren * p), *us = scratch.take(numbers);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
      std::fill(s0, s0 + s.j, Vec<T>{});
      std::fill(s1, s1 + p, Vec<T>{});
      std::fill(s2, s2 + p, Vec<T>{});
      poses.fill(in, of, s, {block, block + 1});
      for (int64_t i = 0; i < s.i; i += kChildren) {
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

// Where gradients go: a child's own at once, those that children share into the thread's copies.
template <typename T>
struct Gradients {
  T *u, *w, *weight, *prior;
  T *bias, *centre, *query, *precision;
};

// Sums over children, for n blocks of instances: of the gradients dv of the votes, and of those of the logits, dl, also
// times x and x^2.
template <typename T>
struct Sums {
  Vec<T> *dv, *lx, *lxx, *l;

  Sums(Scratch<T>& scratch, const Sizes& s, int64_t n)
      : dv(scratch.take(n * s.poses())),
        lx(scratch.take(n * s.poses())),
        lxx(scratch.take(n * s.poses())),
        l(scratch.take(n * s.j)) {}
  static int64_t room(const Sizes& s, int64_t n) { return n * (3 * s.poses() + s.j); }

  Sums from(int64_t block, const Sizes& s) const {
    Sums at = *this;
    for (Vec<T>** pose : {&at.dv, &at.lx, &at.lxx}) *pose += block * s.poses();
    at.l += block * s.j;
    return at;
  }

  void clear(const Sizes& s, int64_t n) {
    for (Vec<T>* pose : {dv, lx, lxx}) std::fill(pose, pose + n * s.poses(), Vec<T>{});
    std::fill(l, l + n * s.j, Vec<T>{});
  }

  void give(const Parents<T>& of, const Poses<T>& poses, const Sizes& s, const Group& group, const Gradients<T>& out) {
    const int64_t p = s.poses(), per = p / s.j;
    for (int64_t block = group.begin, at = 0; block < group.end; ++block) {
      const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
      for (int64_t k = 0; k < p; ++k, ++at) {
        if (out.bias) out.bias[k] += total<T>(dv[at]);
        Vec<T> d_centre = -dv[at];
        if (of.query) {
          d_centre += l[at / per] * poses.query[at];
          store(out.query + k * s.m + m, lx[at] + l[at / per] * load(of.centre + k * s.m + m, count), count);
        }
        store(out.centre + k * s.m + m, d_centre, count);
        if (of.precision) store(out.precision + k * s.m + m, -lxx[at], count);
      }
    }
  }
};

template <typename T, int A, int X, int Y, bool Fixed>
void backward(const Sizes& s, const Inputs<T>& in, const Parents<T>& of, const T* g_mass, const T* g_first,
              const T* g_second, int64_t begin, int64_t end, const Gradients<T>& out) {
  const Shape<A, X, Y> shape(s);
  const int64_t n = Group::size<T>(s, 8 + kChildren), p = s.poses(), a_ = shape.a();
  const int64_t numbers = Tile<T, A, X, Y>::numbers(s);
  Scratch<T> scratch(Poses<T>::room(s, n) + Sums<T>::room(s, n) + (2 + kChildren) * n * p + 2 * kChildren * s.j +
                     (n + 1) * numbers);
  Poses<T> all_poses(scratch, s, n);
  Sums<T> all_sums(scratch, s, n);
  Vec<T>*firsts = scratch.take(n * p), *seconds = scratch.take(n * p), *all_dv = scratch.take(kChildren * n * p);
  Vec<T>*r = scratch.take(kChildren * s.j), *dr = scratch.take(kChildren * s.j);
  Vec<T>*us = scratch.take(n * numbers), *du = scratch.take(numbers);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    all_poses.fill(in, of, s, group);
    all_sums.clear(s, n);
    pack(g_first, firsts, s, group);
    pack(g_second, seconds, s, group);
    for (int64_t i = begin; i < end; i += kChildren) {
      for (int64_t b = 0; b < group.end - group.begin; ++b) {
        const Poses<T> poses = all_poses.from(b, s);
        const Sums<T> sums = all_sums.from(b, s);
        const Vec<T>*g1 = firsts + b * p, *g2 = seconds + b * p;
        const Tile<T, A, X, Y> tile(shape, in, i, end, (group.begin + b) * Lanes<T>::n, us + b * numbers);
        Vec<T>* dvs = all_dv + b * p;  // [c][block][k]; before their gradients are known, x lies there
        tile.begin(r, poses.base);
        for (int64_t j = 0; j < s.j; ++j) {
          const Vec<T> g0 = load(g_mass + j * s.m + tile.m, tile.count);
          for (int64_t c = 0; c < tile.children; ++c) dr[c * s.j + j] = g0;
        }
        if constexpr (!Fixed) {
          over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
            using C = Columns<T, width, A>;
            const C start(poses.offset + k, a_), h(poses.precision + k, a_), g1s(g1 + k, a_), g2s(g2 + k, a_);
            for (int64_t c = 0; c < tile.children; ++c) {
              C x = start;
              tile.vote(c, j, y, a, x);
              x.to(dvs + c * n * p + k, a_);
              Vec<T> logit = r[c * s.j + j], d = dr[c * s.j + j];
#pragma GCC unroll 4
              for (int64_t l = 0; l < width; ++l) {
                logit -= x[l] * x[l] * h[l];
                d += x[l] * (g1s[l] + x[l] * g2s[l]);
              }
              if (of.query) {
                for (int64_t l = 0; l < width; ++l) logit += x[l] * poses.query[k + l * a_];
              }
              r[c * s.j + j] = logit;
              dr[c * s.j + j] = d;
            }
          });
        }
        for (int64_t c = 0; c < tile.children; ++c) softmax<T>(r + c * s.j, s.j);
        if constexpr (!Fixed) {
          tile.pull_softmax(r, dr, out.weight, out.prior);
          for (int64_t c = 0; c < tile.children; ++c) {
            for (int64_t j = 0; j < s.j; ++j) sums.l[j] += dr[c * s.j + j];
          }
        }
        std::fill(du, du + numbers, Vec<T>{});
        over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
          using C = Columns<T, width, A>;
          const C start(poses.offset + k, a_), h(poses.precision + k, a_), g1s(g1 + k, a_), g2s(g2 + k, a_);
          C sum(sums.dv + k, a_), lxx(sums.lxx + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            const Vec<T> share = tile.weights[c] * r[c * s.j + j], twice = share + share;
            Vec<T>* here = dvs + c * n * p + k;
            C x = start, dv;
            if constexpr (Fixed) {
              tile.vote(c, j, y, a, x);
              Vec<T> d = dr[c * s.j + j];
#pragma GCC unroll 4
              for (int64_t l = 0; l < width; ++l) {
                d += x[l] * (g1s[l] + x[l] * g2s[l]);
                dv[l] = share * g1s[l] + x[l] * (twice * g2s[l]);
              }
              dr[c * s.j + j] = d;
            } else {
              const Vec<T> dl = dr[c * s.j + j], dl2 = dl + dl;
              x = C(here, a_);
#pragma GCC unroll 4
              for (int64_t l = 0; l < width; ++l) {
                dv[l] = share * g1s[l] + x[l] * (twice * g2s[l] - dl2 * h[l]);
                lxx[l] += dl * x[l] * x[l];
              }
              if (of.query) {
                for (int64_t l = 0; l < width; ++l) {
                  dv[l] += dl * poses.query[k + l * a_];
                  sums.lx[k + l * a_] += dl * x[l];
                }
              }
            }
#pragma GCC unroll 4
            for (int64_t l = 0; l < width; ++l) sum[l] += dv[l];
            dv.to(here, a_);
            tile.pull(c, j, y, a, dv, du);
          }
          sum.to(sums.dv + k, a_);
          if constexpr (!Fixed) lxx.to(sums.lxx + k, a_);
        });
        if constexpr (Fixed) tile.pull_softmax(r, dr, out.weight, out.prior);
        tile.give(du, out.u);
      }
      for (int64_t c = 0; c < std::min(kChildren, end - i); ++c) {
        pull_map(shape, group.end - group.begin, us + c * s.x * s.a, numbers, all_dv + c * n * p,
                 out.w + (i + c) * s.x * s.j * s.y);
      }
    }
    all_sums.give(of, all_poses, s, group, out);
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
      const auto pass = of.fixed() ? forward<scalar_t, A, X, Y, true> : forward<scalar_t, A, X, Y, false>;
      pass(s, in, of, room<scalar_t>(mass), room<scalar_t>(first), room<scalar_t>(second));
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
  Tensor dbias = shares.copies(bias), dprior = shares.copies(prior), dcentre = shares.unset(centre);
  Tensor dquery = shares.unset(query), dprecision = shares.unset(precision);
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
          const auto pass = of.fixed() ? backward<scalar_t, A, X, Y, true> : backward<scalar_t, A, X, Y, false>;
          pass(s, in, of, g_mass.const_data_ptr<scalar_t>(), g_first.const_data_ptr<scalar_t>(),
               g_second.const_data_ptr<scalar_t>(), s.i * k / shares.count, s.i * (k + 1) / shares.count, out);
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
