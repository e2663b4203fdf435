// Votes v = u W + b, made where they are needed, and the gradients they pass back: what every pass is built around.
//
// Layouts, instances m last: u (i x a m), w (i x j*y), bias (j y a), prior (i or 1, j, m or 1), weight (i m); poses, such
// as a query, are (j y a m). In scratch memory a pose is indexed [j][y][a], one vector of instances each.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "lanes.h"

namespace torchcaps {

using at::Tensor;
using OptTensor = std::optional<Tensor>;

template <typename T>
const T* data(const OptTensor& t) {
  return t.has_value() ? t->const_data_ptr<T>() : nullptr;
}

template <typename T>
T* room(const Tensor& t) {
  return t.numel() ? t.mutable_data_ptr<T>() : nullptr;
}

inline Sizes sizes_of(const Tensor& u, const Tensor& w, int64_t j) {
  TORCH_CHECK(u.is_contiguous() && w.is_contiguous(), "the native passes want contiguous children and maps");
  return {u.size(0), u.size(1), u.size(2), u.size(3), j, w.size(2) / j};
}

// What votes and couplings are made of, as bare pointers; an absent input is null.
template <typename T>
struct Inputs {
  const T *u, *w, *bias, *prior, *weight;
  bool prior_of_child, prior_of_instance;

  Inputs(const Tensor& u, const Tensor& w, const OptTensor& bias, const OptTensor& prior, const OptTensor& weight)
      : u(u.const_data_ptr<T>()),
        w(w.const_data_ptr<T>()),
        bias(data<T>(bias)),
        prior(data<T>(prior)),
        weight(data<T>(weight)),
        prior_of_child(prior && prior->size(0) > 1),
        prior_of_instance(prior && prior->size(2) > 1) {}

  int64_t prior_row(int64_t i, int64_t j, const Sizes& s) const {
    return ((prior_of_child ? i : 0) * s.j + j) * (prior_of_instance ? s.m : 1);
  }

  Vec<T> prior_at(int64_t i, int64_t j, int64_t m, int64_t count, const Sizes& s) const {
    if (!prior) return Vec<T>{};
    const T* row = prior + prior_row(i, j, s);
    return prior_of_instance ? load(row + m, count) : same(*row);
  }

  void add_to_prior(T* grad, int64_t i, int64_t j, int64_t m, Vec<T> d, int64_t count, const Sizes& s) const {
    T* row = grad + prior_row(i, j, s);
    if (prior_of_instance) {
      store(row + m, load(row + m, count) + d, count);
    } else {
      *row += total<T>(d);
    }
  }

  Vec<T> weight_at(int64_t i, int64_t m, int64_t count, const Sizes& s) const {
    return weight ? load(weight + i * s.m + m, count) : same(T(1));
  }
};

// A child's numbers, in registers where their count is known at compile time.
template <typename T, int A, int X, int Y>
struct Child {
  static constexpr int kKnown = A * X;
  Vec<T> known[kKnown ? kKnown : 1];
  Vec<T>* at;

  Child(Scratch<T>& scratch, const Sizes& s) : at(kKnown ? nullptr : scratch.take(s.x * s.a)) {}
  Vec<T>& operator[](int64_t k) { return kKnown ? known[k] : at[k]; }
};

// The votes of child i for all parents, `count` instances from m, and the couplings' logits: `each(k, v)` is given every
// number of a vote, keeps what it wants, and returns its part of the logit.
template <typename T, int A, int X, int Y, typename Each>
inline void vote(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t m, int64_t count,
                 Child<T, A, X, Y>& child, Vec<T>* logits, Each each) {
  const Sizes& s = shape.s;
  const int64_t a_ = shape.a(), x_ = shape.x(), y_ = shape.y(), row = s.j * y_;
  const T* u = in.u + i * x_ * a_ * s.m + m;
#pragma GCC unroll 16
  for (int64_t k = 0; k < x_ * a_; ++k) child[k] = load(u + k * s.m, count);
  const T* w = in.w + i * x_ * row;
  for (int64_t j = 0; j < s.j; ++j) {
    Vec<T> logit = in.prior_at(i, j, m, count, s);
    for (int64_t y = 0; y < y_; ++y) {
      const int64_t at = (j * y_ + y) * a_;
#pragma GCC unroll 4
      for (int64_t a = 0; a < a_; ++a) {
        Vec<T> v = child[a] * w[j * y_ + y];
#pragma GCC unroll 16
        for (int64_t x = 1; x < x_; ++x) v += child[x * a_ + a] * w[x * row + j * y_ + y];
        if (in.bias) v += in.bias[at + a];
        logit += each(at + a, v);
      }
    }
    logits[j] = logit;
  }
}

// The gradient of child i from that of its votes for parent j: `each(k)` gives the latter, which is kept in dv.
template <typename T, int A, int X, int Y, typename Each>
inline void pull_vote(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t j, Child<T, A, X, Y>& du,
                      Vec<T>* dv, Each each) {
  const int64_t a_ = shape.a(), x_ = shape.x(), y_ = shape.y(), row = shape.s.j * y_;
  const T* w = in.w + i * x_ * row;
  for (int64_t y = 0; y < y_; ++y) {
#pragma GCC unroll 4
    for (int64_t a = 0; a < a_; ++a) {
      const int64_t k = (j * y_ + y) * a_ + a;
      const Vec<T> d = each(k);
      dv[k] = d;
#pragma GCC unroll 16
      for (int64_t x = 0; x < x_; ++x) du[x * a_ + a] += d * w[x * row + j * y_ + y];
    }
  }
}

// The gradients of child i's maps, over all instances at once so that the sums stay in registers, and of the bias.
template <typename T, int A, int X, int Y>
inline void pull_maps(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, const Vec<T>* dvs, T* d_maps,
                      T* d_bias, Child<T, A, X, Y>& sums) {
  const Sizes& s = shape.s;
  const int64_t a_ = shape.a(), x_ = shape.x(), row = s.j * shape.y(), p = s.poses();
  T* dw = d_maps + i * x_ * row;
  const T* u = in.u + i * x_ * a_ * s.m;
  for (int64_t k = 0; k < row; ++k) {
#pragma GCC unroll 16
    for (int64_t x = 0; x < x_; ++x) sums[x] = Vec<T>{};
    for (int64_t block = 0; block < blocks<T>(s); ++block) {
      const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
      for (int64_t a = 0; a < a_; ++a) {
        const Vec<T> d = dvs[block * p + k * a_ + a];
        if (d_bias) d_bias[k * a_ + a] += total<T>(d);
#pragma GCC unroll 16
        for (int64_t x = 0; x < x_; ++x) sums[x] += d * load(u + (x * a_ + a) * s.m + m, count);
      }
    }
    for (int64_t x = 0; x < x_; ++x) dw[x * row + k] = total<T>(sums[x]);
  }
}

// A (j y a m) tensor of poses block by block, as vectors; and back.
template <typename T>
void pack(const T* from, Vec<T>* to, const Sizes& s) {
  const int64_t p = s.poses();
  for (int64_t block = 0; block < blocks<T>(s); ++block) {
    const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
    for (int64_t k = 0; k < p; ++k) to[block * p + k] = load(from + k * s.m + m, count);
  }
}

template <typename T>
void unpack(const Vec<T>* from, T* to, const Sizes& s) {
  const int64_t p = s.poses();
  for (int64_t block = 0; block < blocks<T>(s); ++block) {
    const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
    for (int64_t k = 0; k < p; ++k) store(to + k * s.m + m, from[block * p + k], count);
  }
}

// Gradients that all children share are summed by each thread apart, then in order, so that a result never varies.
struct Shares {
  explicit Shares(const Tensor& u)
      : count(std::max<int64_t>(1, std::min<int64_t>(at::get_num_threads(), u.size(0)))), options(u.options()) {}
  int64_t count;
  at::TensorOptions options;

  Tensor copies(const OptTensor& t) const { return at::zeros({count, t ? t->numel() : 0}, options); }
  Tensor sum(const Tensor& copies, const OptTensor& like) const {
    return like ? copies.sum(0).view_as(*like) : copies.sum(0);
  }
  template <typename T>
  static T* row(const Tensor& copies, int64_t k) {
    return copies.numel() ? copies.mutable_data_ptr<T>() + k * copies.size(1) : nullptr;
  }
};

// Rows and columns that the papers use are compiled for; any others run with sizes known at run time.
#define TORCHCAPS_WITH(A_, X_, Y_, ...)                \
  if (s.a == A_ && s.x == X_ && s.y == Y_) {           \
    constexpr int A = A_, X = X_, Y = Y_;              \
    return __VA_ARGS__();                              \
  }
#define TORCHCAPS_FOR_SHAPE(...)                       \
  [&] {                                                \
    TORCHCAPS_WITH(1, 8, 16, __VA_ARGS__)              \
    TORCHCAPS_WITH(1, 8, 8, __VA_ARGS__)               \
    TORCHCAPS_WITH(1, 16, 16, __VA_ARGS__)             \
    TORCHCAPS_WITH(4, 4, 4, __VA_ARGS__)               \
    constexpr int A = 0, X = 0, Y = 0;                 \
    return __VA_ARGS__();                              \
  }()

}  // namespace torchcaps
