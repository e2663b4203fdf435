// Votes v = u W + b, made where they are needed, and the gradients they pass back: what every pass is built around.
//
// Layouts, instances m last: u (i x a m), w (i x j*y), bias (j y a), prior (i or 1, j, m or 1), weight (i m); poses,
// such as a query, are (j y a m). Without w the children are votes, (i j*y a m). In scratch memory a pose is indexed
// [j][y][a], one vector of instances each.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "buffers.h"
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

// Every tensor that is there must be of the children's type, without gaps, and of the sizes the pass reads.
inline void expect(const char* name, const OptTensor& t, const Tensor& u, at::IntArrayRef sizes) {
  if (!t) return;
  TORCH_CHECK_VALUE(t->is_contiguous() && t->scalar_type() == u.scalar_type() && t->sizes() == sizes, name, " is ",
                    t->sizes(), " of ", t->scalar_type(), " but must be contiguous ", sizes, " of ", u.scalar_type());
}

// Half precision is summed in single: a pass is given `single` tensors, and its results are made as narrow as u again.
inline bool is_half(const Tensor& u) { return u.scalar_type() == at::kHalf || u.scalar_type() == at::kBFloat16; }
inline Tensor single(const Tensor& t) { return t.to(at::kFloat); }
inline OptTensor single(const OptTensor& t) { return t ? OptTensor(t->to(at::kFloat)) : t; }

template <typename... Ts>
std::tuple<Ts...> narrow(const Tensor& u, const std::tuple<Ts...>& found) {
  return std::apply([&](const Ts&... t) { return std::make_tuple(t.to(u.scalar_type())...); }, found);
}

inline Sizes sizes_of(const Tensor& u, const Tensor& w, const OptTensor& bias, const OptTensor& prior,
                      const OptTensor& weight, int64_t j) {
  TORCH_CHECK_VALUE(u.dim() == 4 && w.dim() == 3, "children are ", u.sizes(), ", maps ", w.sizes(),
                    " but must be (i x a m) and (i x j*y)");
  const int64_t columns = w.size(2);
  TORCH_CHECK_VALUE(j > 0 && columns % j == 0 && u.size(1) && u.size(2) && columns, "children are ", u.sizes(),
                    ", maps ", w.sizes(), ", parents ", j,
                    " but must be (i x a m), (i x j*y) and j, and x, a, j, y at least 1");
  const Sizes s{u.size(0), u.size(1), u.size(2), u.size(3), j, columns / j};
  expect("u", u, u, {s.i, s.x, s.a, s.m});
  expect("w", w, u, {s.i, s.x, s.j * s.y});
  expect("bias", bias, u, {s.j, s.y, s.a, 1});
  expect("weight", weight, u, {s.i, s.m});
  if (prior) {
    expect("prior", prior, u, {prior->size(0) == 1 ? 1 : s.i, s.j, prior->size(-1) == 1 ? 1 : s.m});
  }
  return s;
}

inline void expect_poses(const char* name, const OptTensor& t, const Tensor& u, const Sizes& s) {
  expect(name, t, u, {s.j, s.y, s.a, s.m});
}

inline void expect_mass(const char* name, const OptTensor& t, const Tensor& u, const Sizes& s) {
  expect(name, t, u, {s.j, s.m});
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

// Instances are taken in groups of blocks whose poses, in `buffers` of them, stay in a core's own cache.
struct Group {
  int64_t begin, end;  // blocks
  static constexpr int64_t kCache = 16 * 1024 * kBytes;  // a MB with AVX-512, else half as much

  template <typename T>
  static int64_t size(const Sizes& s, int64_t buffers) {
    return std::clamp<int64_t>(kCache / (s.poses() * buffers * kBytes), 1, std::max<int64_t>(1, blocks<T>(s)));
  }
};

// The gradient of the bias is added to, for the p numbers of some parents: what n blocks of instances give.
template <typename T>
inline void pull_bias(int64_t p, int64_t n, const Vec<T>* dvs, T* d_bias) {
  for (int64_t k = 0; k < p; ++k) {
    Vec<T> sum{};
    for (int64_t block = 0; block < n; ++block) sum += dvs[block * p + k];
    d_bias[k] += total<T>(sum);
  }
}

// A (j y a m) tensor of poses block by block, as vectors; and back.
template <typename T>
void pack(const T* from, Vec<T>* to, const Sizes& s, const Group& group) {
  const int64_t p = s.poses();
  for (int64_t block = group.begin; block < group.end; ++block) {
    const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
    for (int64_t k = 0; k < p; ++k) *to++ = load(from + k * s.m + m, count);
  }
}

template <typename T>
void unpack(const Vec<T>* from, T* to, const Sizes& s, const Group& group) {
  const int64_t p = s.poses();
  for (int64_t block = group.begin; block < group.end; ++block) {
    const int64_t m = block * Lanes<T>::n, count = std::min(Lanes<T>::n, s.m - m);
    for (int64_t k = 0; k < p; ++k) store(to + k * s.m + m, *from++, count);
  }
}

// Gradients that all children share are summed by each thread apart, then in order, so that a result never varies.
struct Shares {
  explicit Shares(const Tensor& u)
      : count(std::max<int64_t>(1, std::min<int64_t>(at::get_num_threads(), u.size(0)))), options(u.options()) {}
  int64_t count;
  at::TensorOptions options;

  Tensor copies(const OptTensor& t) const { return at::zeros({count, t ? t->numel() : 0}, options); }
  Tensor unset(const OptTensor& t) const { return at::empty({count, t ? t->numel() : 0}, options); }
  Tensor sum(const Tensor& copies, const OptTensor& like) const {
    const Tensor sum = count == 1 ? copies[0] : copies.sum(0);
    return like ? sum.view_as(*like) : sum;
  }
  template <typename T>
  static T* row(const Tensor& copies, int64_t k) {
    return copies.numel() ? copies.mutable_data_ptr<T>() + k * copies.size(1) : nullptr;
  }
};

// Room for the gradient of maps. The first group of instances sets it; where there is none, it is zero.
inline Tensor maps_like(const Tensor& w, const Sizes& s) {
  const Tensor dw = result_like(w);
  return s.m ? dw : dw.zero_();
}

// Rows and columns that the papers use are compiled for; any others run with sizes known at run time.
#define TORCHCAPS_WITH(A_, X_, Y_, ...)      \
  if (s.a == A_ && s.x == X_ && s.y == Y_) { \
    constexpr int A = A_, X = X_, Y = Y_;    \
    return __VA_ARGS__();                    \
  }
#define TORCHCAPS_FOR_SHAPE(...)           \
  [&] {                                    \
    TORCHCAPS_WITH(1, 8, 16, __VA_ARGS__)  \
    TORCHCAPS_WITH(1, 8, 8, __VA_ARGS__)   \
    TORCHCAPS_WITH(1, 16, 16, __VA_ARGS__) \
    TORCHCAPS_WITH(4, 4, 4, __VA_ARGS__)   \
    constexpr int A = 0, X = 0, Y = 0;     \
    return __VA_ARGS__();                  \
  }()

}  // namespace torchcaps
