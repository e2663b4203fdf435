// The gradients of all iterations of a routing that attend to the same votes: what reaches children and maps is the sum
// over the iterations of the votes' gradients, so votes are made once for all of them and that of the maps is written
// once. `query_backward` gives an iteration's query its gradient, which the iteration before waits for;
// `votes_backward` gives children, maps and bias theirs, when all iterations are known. torchcaps/ops/iterations.py
// states both in torch.
#include <torch/library.h>

#include "tiles.h"

namespace torchcaps {
namespace {

// One iteration: its query, and the gradients of its sums.
template <typename T>
struct Iteration {
  const T *g_sum, *g_mass, *query;
};

template <typename T, int A, int X, int Y>
void pull_query(const Sizes& s, const Inputs<T>& in, const Iteration<T>& of, int64_t begin, int64_t end, T* d_query) {
  const Shape<A, X, Y> shape(s);
  const int64_t few = children_at_once(s), n = Group::size<T>(s, 3 + few), p = s.poses(), a_ = shape.a();
  const int64_t numbers = Tile<T, A, X, Y>::numbers(s);
  Scratch<T> scratch((3 * n + few + 1) * p + 2 * few * s.j + numbers);
  Vec<T>*queries = scratch.take(n * p), *gs = scratch.take(n * p), *d_queries = scratch.take(n * p);
  Vec<T>*votes = scratch.take(few * p), *start = scratch.take(p), *us = scratch.take(numbers);
  Vec<T>*r = scratch.take(few * s.j), *dr = scratch.take(few * s.j);
  for (int64_t k = 0; in.bias && k < p; ++k) start[k] = same(in.bias[k]);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    pack(of.query, queries, s, group);
    pack(of.g_sum, gs, s, group);
    std::fill(d_queries, d_queries + n * p, Vec<T>{});
    for (int64_t i = begin; i < end; i += few) {
      for (int64_t b = 0; b < group.end - group.begin; ++b) {
        const Tile<T, A, X, Y> tile(shape, in, i, end, (group.begin + b) * Lanes<T>::n, us);
        tile.begin(r);
        tile.begin(dr, of.g_mass);
        over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
          using C = Columns<T, width, A>;
          const C zero(start + k, a_), q(queries + b * p + k, a_), g(gs + b * p + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            C v = zero;
            tile.vote(c, j, y, a, v);
            v.to(votes + c * p + k, a_);
            Vec<T> logit = r[c * s.j + j], d = dr[c * s.j + j];
#pragma GCC unroll 4
            for (int64_t l = 0; l < width; ++l) {
              logit += v[l] * q[l];
              d += v[l] * g[l];
            }
            r[c * s.j + j] = logit;
            dr[c * s.j + j] = d;
          }
        });
        for (int64_t c = 0; c < tile.children; ++c) softmax<T>(r + c * s.j, s.j);
        tile.pull_softmax(r, dr, nullptr, nullptr);
        over_columns(shape, [&](int64_t k, int64_t j, int64_t, int64_t, auto width) {
          using C = Columns<T, width, A>;
          C sum(d_queries + b * p + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            const C v(votes + c * p + k, a_);
#pragma GCC unroll 4
            for (int64_t l = 0; l < width; ++l) sum[l] += dr[c * s.j + j] * v[l];
          }
          sum.to(d_queries + b * p + k, a_);
        });
      }
    }
    unpack(d_queries, d_query, s, group);
  }
}

// `even` is the gradient of votes that count the same for every child: that of iterations without a query.
template <typename T, int A, int X, int Y>
void pull_votes(const Sizes& s, const Inputs<T>& in, const std::vector<Iteration<T>>& all, const T* even, int64_t begin,
                int64_t end, T* d_u, T* d_w, T* d_bias) {
  const Shape<A, X, Y> shape(s);
  const int64_t times = all.size(), few = children_at_once(s), p = s.poses(), per = p / s.j, a_ = shape.a();
  const int64_t n = Group::size<T>(s, 1 + 2 * times), numbers = Tile<T, A, X, Y>::numbers(s), pairs = few * s.j;
  Scratch<T> scratch((1 + 2 * times) * n * p + p + 2 * n * times * pairs + few * n * per + 2 * n * numbers +
                     n * s.a * Lanes<T>::n);
  Vec<T>*evens = scratch.take(n * p), *queries = scratch.take(times * n * p), *gs = scratch.take(times * n * p);
  Vec<T>*start = scratch.take(p), *all_r = scratch.take(n * times * pairs), *all_dr = scratch.take(n * times * pairs);
  Vec<T>* dvs = scratch.take(few * n * per);  // [c][block][y][a], of one parent
  Vec<T>*us = scratch.take(n * numbers), *dus = scratch.take(n * numbers);
  Vec<T>* turned = scratch.take(n * s.a * Lanes<T>::n);
  std::vector<Tile<T, A, X, Y>> tiles;
  for (int64_t k = 0; in.bias && k < p; ++k) start[k] = same(in.bias[k]);
  for (Group group{0, 0}; group.end < blocks<T>(s);) {
    group = {group.end, std::min(group.end + n, blocks<T>(s))};
    const int64_t count = group.end - group.begin;
    const Pulled one{s.y, per, !group.begin};
    if (even) pack(even, evens, s, group);
    for (int64_t t = 0; t < times; ++t) {
      pack(all[t].query, queries + t * n * p, s, group);
      pack(all[t].g_sum, gs + t * n * p, s, group);
    }
    for (int64_t i = begin; i < end; i += few) {
      tiles.clear();
      for (int64_t b = 0; b < count; ++b) {
        tiles.emplace_back(shape, in, i, end, (group.begin + b) * Lanes<T>::n, us + b * numbers);
        const Tile<T, A, X, Y>& tile = tiles.back();
        Vec<T>*r = all_r + b * times * pairs, *dr = all_dr + b * times * pairs;
        for (int64_t t = 0; t < times; ++t) {
          tile.begin(r + t * pairs);
          tile.begin(dr + t * pairs, all[t].g_mass);
        }
        over_columns(shape, [&](int64_t k, int64_t j, int64_t y, int64_t a, auto width) {
          using C = Columns<T, width, A>;
          const C zero(start + k, a_);
          for (int64_t c = 0; c < tile.children; ++c) {
            C v = zero;
            tile.vote(c, j, y, a, v);
            for (int64_t t = 0; t < times; ++t) {
              const C q(queries + (t * n + b) * p + k, a_), g(gs + (t * n + b) * p + k, a_);
              Vec<T> logit = r[t * pairs + c * s.j + j], d = dr[t * pairs + c * s.j + j];
#pragma GCC unroll 4
              for (int64_t l = 0; l < width; ++l) {
                logit += v[l] * q[l];
                d += v[l] * g[l];
              }
              r[t * pairs + c * s.j + j] = logit;
              dr[t * pairs + c * s.j + j] = d;
            }
          }
        });
        for (int64_t t = 0; t < times; ++t) {
          for (int64_t c = 0; c < tile.children; ++c) softmax<T>(r + t * pairs + c * s.j, s.j);
          tile.pull_softmax(r + t * pairs, dr + t * pairs, nullptr, nullptr);
        }
      }
      std::fill(dus, dus + n * numbers, Vec<T>{});
      for (int64_t parent = 0; parent < s.j; ++parent) {
        for (int64_t b = 0; b < count; ++b) {
          const Tile<T, A, X, Y>& tile = tiles[b];
          const Vec<T>*r = all_r + b * times * pairs, *dr = all_dr + b * times * pairs;
          const auto columns = [&](int64_t k, int64_t j, int64_t, int64_t, auto width) {
            using C = Columns<T, width, A>;
            for (int64_t c = 0; c < tile.children; ++c) {
              C dv(evens + b * p + k, a_);
              for (int64_t t = 0; t < times; ++t) {
                const C q(queries + (t * n + b) * p + k, a_), g(gs + (t * n + b) * p + k, a_);
                const Vec<T> share = r[t * pairs + c * s.j + j], dl = dr[t * pairs + c * s.j + j];
#pragma GCC unroll 4
                for (int64_t l = 0; l < width; ++l) dv[l] += share * g[l] + dl * q[l];
              }
              dv.to(dvs + (c * n + b) * per + k - j * per, a_);
            }
          };
          over_parent(shape, parent, columns, [&](int64_t j, int64_t a) {
            for (int64_t c = 0; c < tile.children; ++c) {
              tile.pull(c, j, a, dvs + (c * n + b) * per, dus + b * numbers);
            }
          });
        }
        const int64_t children = std::min(few, end - i);
        pull_maps(shape, in, i, children, group, n, us, dvs, parent, one, d_w, turned);
        for (int64_t c = 0; d_bias && c < children; ++c) {
          pull_bias(per, count, dvs + c * n * per, d_bias + parent * per);
        }
      }
      for (int64_t b = 0; b < count; ++b) tiles[b].give(dus + b * numbers, d_u);
    }
  }
}

Tensor query_backward(const Tensor& g_sum, const Tensor& g_mass, const Tensor& u, const Tensor& w,
                      const OptTensor& bias, const Tensor& query, int64_t j) {
  if (is_half(u)) {
    return query_backward(single(g_sum), single(g_mass), single(u), single(w), single(bias), single(query), j)
        .to(u.scalar_type());
  }
  const Sizes s = sizes_of(u, w, bias, std::nullopt, std::nullopt, j);
  expect_poses("query", query, u, s);
  expect_poses("g_sum", g_sum, u, s);
  expect_mass("g_mass", g_mass, u, s);
  const Shares shares(u);
  const Tensor dquery = shares.unset(query);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "query_backward", [&] {
    const Inputs<scalar_t> in(u, w, bias, std::nullopt, std::nullopt);
    const Iteration<scalar_t> of{data<scalar_t>(g_sum), data<scalar_t>(g_mass), data<scalar_t>(query)};
    at::parallel_for(0, shares.count, 1, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        TORCHCAPS_FOR_SHAPE([&] {
          pull_query<scalar_t, A, X, Y>(s, in, of, s.i * k / shares.count, s.i * (k + 1) / shares.count,
                                        Shares::row<scalar_t>(dquery, k));
        });
      }
    });
  });
  return shares.sum(dquery, query);
}

std::vector<Tensor> all_single(at::TensorList tensors) {
  std::vector<Tensor> found;
  for (const Tensor& t : tensors) found.push_back(single(t));
  return found;
}

std::tuple<Tensor, Tensor, Tensor> votes_backward(at::TensorList g_sums, at::TensorList g_masses,
                                                  at::TensorList queries, const OptTensor& even, const Tensor& u,
                                                  const Tensor& w, const OptTensor& bias, int64_t j) {
  if (is_half(u)) {
    return narrow(u, votes_backward(all_single(g_sums), all_single(g_masses), all_single(queries), single(even),
                                    single(u), single(w), single(bias), j));
  }
  const Sizes s = sizes_of(u, w, bias, std::nullopt, std::nullopt, j);
  TORCH_CHECK_VALUE(g_sums.size() == queries.size() && g_masses.size() == queries.size(), "there are ",
                    queries.size(), " queries, but gradients of ", g_sums.size(), " sums and of ", g_masses.size(),
                    " masses");
  for (size_t t = 0; t < queries.size(); ++t) {
    expect_poses("query", queries[t], u, s);
    expect_poses("g_sum", g_sums[t], u, s);
    expect_mass("g_mass", g_masses[t], u, s);
  }
  expect_poses("even", even, u, s);
  const Shares shares(u);
  const Tensor du = in_huge_pages(at::empty_like(u)), dw = maps_like(w, s), dbias = shares.copies(bias);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "votes_backward", [&] {
    const Inputs<scalar_t> in(u, w, bias, std::nullopt, std::nullopt);
    std::vector<Iteration<scalar_t>> all;
    for (size_t t = 0; t < queries.size(); ++t) {
      all.push_back({data<scalar_t>(g_sums[t]), data<scalar_t>(g_masses[t]), data<scalar_t>(queries[t])});
    }
    at::parallel_for(0, shares.count, 1, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        TORCHCAPS_FOR_SHAPE([&] {
          pull_votes<scalar_t, A, X, Y>(s, in, all, data<scalar_t>(even), s.i * k / shares.count,
                                        s.i * (k + 1) / shares.count, room<scalar_t>(du), room<scalar_t>(dw),
                                        Shares::row<scalar_t>(dbias, k));
        });
      }
    });
  });
  return {du, dw, shares.sum(dbias, bias)};
}

}  // namespace
}  // namespace torchcaps

// The schemas are declared in torchcaps/ops/iterations.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("query_backward", torchcaps::query_backward);
  m.impl("votes_backward", torchcaps::votes_backward);
}
