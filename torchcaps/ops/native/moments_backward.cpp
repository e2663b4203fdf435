// The gradients of moments. With g0, g1, g2 those of the sums, dr = g0 + g1 x + g2 x^2, and dl those of the logits:
// dv = r (g1 + 2 g2 x) + dl (query - 2 precision x). Those of the parents' poses are sums of dv, dl, dl x and dl x^2.
#include <torch/library.h>

#include "moments.h"

namespace torchcaps {
namespace {

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
  const int64_t few = children_at_once(s), n = Group::size<T>(s, 8 + few), p = s.poses(), a_ = shape.a();
  const int64_t numbers = Tile<T, A, X, Y>::numbers(s), per = p / s.j;
  Scratch<T> scratch(Poses<T>::room(s, n) + Sums<T>::room(s, n) + (2 + few) * n * p + 2 * few * s.j +
                     (n + 1) * numbers + n * s.a * Lanes<T>::n);
  Poses<T> all_poses(scratch, s, n);
  Sums<T> all_sums(scratch, s, n);
  Vec<T>*firsts = scratch.take(n * p), *seconds = scratch.take(n * p), *all_dv = scratch.take(few * n * p);
  Vec<T>*r = scratch.take(few * s.j), *dr = scratch.take(few * s.j);
  Vec<T>*us = scratch.take(n * numbers), *du = scratch.take(numbers);
  Vec<T>* turned = scratch.take(n * s.a * Lanes<T>::n);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    const Pulled all{s.j * s.y, p, !group.begin};
    all_poses.fill(in, of, s, group);
    all_sums.clear(s, n);
    pack(g_first, firsts, s, group);
    pack(g_second, seconds, s, group);
    for (int64_t i = begin; i < end; i += few) {
      for (int64_t b = 0; b < group.end - group.begin; ++b) {
        const Poses<T> poses = all_poses.from(b, s);
        const Sums<T> sums = all_sums.from(b, s);
        const Vec<T>*g1 = firsts + b * p, *g2 = seconds + b * p;
        const Tile<T, A, X, Y> tile(shape, in, i, end, (group.begin + b) * Lanes<T>::n, us + b * numbers);
        Vec<T>* dvs = all_dv + b * p;  // [c][block][k]; before their gradients are known, x lies there
        tile.begin(r, poses.base);
        tile.begin(dr, g_mass);
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
        const auto columns = [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
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
          }
          sum.to(sums.dv + k, a_);
          if constexpr (!Fixed) lxx.to(sums.lxx + k, a_);
        };
        over_columns(shape, columns, [&](int64_t j, int64_t a) {
          for (int64_t c = 0; c < tile.children; ++c) tile.pull(c, j, a, dvs + c * n * p + j * per, du);
        });
        if constexpr (Fixed) tile.pull_softmax(r, dr, out.weight, out.prior);
        tile.give(du, out.u);
      }
      pull_maps(shape, in, i, std::min(few, end - i), group, n, us, all_dv, 0, all, out.w, turned);
    }
    all_sums.give(of, all_poses, s, group, out);
  }
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
  Tensor du = in_huge_pages(at::empty_like(u)), dw = maps_like(w, s);
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
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("moments_backward", torchcaps::moments_backward); }
