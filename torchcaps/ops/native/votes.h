// Votes v = u W + b, made where they are needed, and the gradients they pass back: what every pass is built around.
//
// Layouts, instances m last: u (i x a m), w (i x j*y), bias (j y a), prior (i or 1, j, m or 1), weight (i m); poses,
// such as a query, are (j y a m). In scratch memory a pose is indexed [j][y][a], one vector of instances each.
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
  TORCH_CHECK_VALUE(u.dim() == 4 && w.dim() == 3 && j > 0 && w.size(2) % j == 0 && u.size(1) && u.size(2) && w.size(2),
                    "children are ", u.sizes(), ", maps ", w.sizes(), ", parents ", j,
                    " but must be (i x a m), (i x j*y) and j, and x, a, j, y at least 1");
  const Sizes s{u.size(0), u.size(1), u.size(2), u.size(3), j, w.size(2) / j};
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

// Columns of a vote that are made at a time.
constexpr int64_t kColumns = 4;

// A child's numbers, in registers where their count is known at compile time.
template <typename T, int A, int X, int Y>
struct Child {
  static constexpr int kKnown = A * X;
  Vec<T> known[kKnown ? kKnown : 1];
  Vec<T>* at;

  Child(Scratch<T>& scratch, const Sizes& s) : at(kKnown ? nullptr : scratch.take(s.x * s.a)) {}
  Vec<T>& operator[](int64_t k) { return kKnown ? known[k] : at[k]; }
};

// The votes of child i for all parents, `count` instances from m: `each(k, v, sums)` is given every number of a vote,
// keeps what it wants and adds to the parent's sums, which begin with the prior as logit and go to `done(j, sums)`.
template <typename Sums, typename T, int A, int X, int Y, typename Each, typename Done>
inline void vote(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t m, int64_t count,
                 Child<T, A, X, Y>& child, Each each, Done done) {
  const Sizes& s = shape.s;
  const int64_t a_ = shape.a(), x_ = shape.x(), y_ = shape.y(), row = s.j * y_;
  const T* u = in.u + i * x_ * a_ * s.m + m;
#pragma GCC unroll 16
  for (int64_t k = 0; k < x_ * a_; ++k) child[k] = load(u + k * s.m, count);
  const T* w = in.w + i * x_ * row;
  for (int64_t j = 0; j < s.j; ++j) {
    Sums sums{in.prior_at(i, j, m, count, s)};
    auto columns = [&](int64_t y, auto width) {  // `width` columns of the vote side by side: independent sums
      constexpr int64_t c_ = width;
      const int64_t at = (j * y_ + y) * a_;
#pragma GCC unroll 4
      for (int64_t a = 0; a < a_; ++a) {
        Vec<T> v[c_] = {};
        if (in.bias) {
          for (int64_t c = 0; c < c_; ++c) v[c] += in.bias[at + c * a_ + a];
        }
#pragma GCC unroll 16
        for (int64_t x = 0; x < x_; ++x) {
#pragma GCC unroll 4
          for (int64_t c = 0; c < c_; ++c) v[c] += child[x * a_ + a] * w[x * row + j * y_ + y + c];
        }
#pragma GCC unroll 4
        for (int64_t c = 0; c < c_; ++c) each(at + c * a_ + a, v[c], sums);
      }
    };
    int64_t y = 0;
    for (; y + kColumns <= y_; y += kColumns) columns(y, std::integral_constant<int64_t, kColumns>{});
    for (; y < y_; ++y) columns(y, std::integral_constant<int64_t, 1>{});
    done(j, sums);
  }
}

// The gradient of child i from that of its votes for parent j: `each(k)` gives the latter, which is kept in dv.
template <typename T, int A, int X, int Y, typename Each>
inline void pull_vote(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t j, Child<T, A, X, Y>& du,
                      Vec<T>* dv, Each each) {
  const int64_t a_ = shape.a(), x_ = shape.x(), y_ = shape.y(), row = shape.s.j * y_;
  const T* w = in.w + i * x_ * row;
#pragma GCC unroll 4
  for (int64_t a = 0; a < a_; ++a) {
    auto columns = [&](int64_t y, auto width) {
      constexpr int64_t c_ = width;
      Vec<T> d[c_];
#pragma GCC unroll 4
      for (int64_t c = 0; c < c_; ++c) {
        const int64_t k = (j * y_ + y + c) * a_ + a;
        dv[k] = d[c] = each(k);
      }
#pragma GCC unroll 16
      for (int64_t x = 0; x < x_; ++x) {
#pragma GCC unroll 4
        for (int64_t c = 0; c < c_; ++c) du[x * a_ + a] += d[c] * w[x * row + j * y_ + y + c];
      }
    };
    int64_t y = 0;
    for (; y + kColumns <= y_; y += kColumns) columns(y, std::integral_constant<int64_t, kColumns>{});
    for (; y < y_; ++y) columns(y, std::integral_constant<int64_t, 1>{});
  }
}

// What a child's vote for a parent is summed to: the logit of its coupling and, on the way back, the coupling's
// gradient.
template <typename T>
struct Logit {
  Vec<T> logit{};
};
template <typename T>
struct LogitAndGradient {
  Vec<T> logit{}, gradient{};
};

// Instances are taken in groups of blocks whose poses, in `buffers` of them, stay in a core's own cache.
struct Group {
  int64_t begin, end;  // blocks
  static constexpr int64_t kCache = 12 * 1024 * kBytes;  // three quarters of a MB with AVX-512, half as much else

  template <typename T>
  static int64_t size(const Sizes& s, int64_t buffers) {
    return std::clamp<int64_t>(kCache / (s.poses() * buffers * kBytes), 1, std::max<int64_t>(1, blocks<T>(s)));
  }
};

// The gradients of child i's maps, over a group of instances, are added to; `dvs` are those of the votes. Turned so
// that neighbouring numbers of a vote lie in a vector, they need no sum across one. `turned` is room for them.
template <typename T, int A, int X, int Y>
inline void pull_maps(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, const Group& group,
                      const Vec<T>* dvs, T* d_maps, Vec<T>* turned) {
  const Sizes& s = shape.s;
  constexpr int64_t lanes = Lanes<T>::n, kRows = X == 0 || X > 8 ? 8 : X;  // of a map, at a time
  const int64_t a_ = shape.a(), x_ = shape.x(), row = s.j * shape.y(), p = s.poses();
  for (int64_t k = 0; k < row; k += lanes) {
    const int64_t ks = std::min(lanes, row - k);
    for (int64_t block = 0; block < group.end - group.begin; ++block) {
      for (int64_t a = 0; a < a_; ++a) {
        Vec<T>* t = turned + (block * a_ + a) * lanes;
        for (int64_t c = 0; c < lanes; ++c) t[c] = c < ks ? dvs[block * p + (k + c) * a_ + a] : Vec<T>{};
        transpose<T>(t);
      }
    }
    auto rows = [&](int64_t x, auto height) {
      constexpr int64_t r_ = height;
      Vec<T> sums[r_] = {};
      for (int64_t block = group.begin; block < group.end; ++block) {
        const int64_t m = block * lanes, count = std::min(lanes, s.m - m);
        for (int64_t a = 0; a < a_; ++a) {
          const T* u = in.u + ((i * x_ + x) * a_ + a) * s.m + m;
          const Vec<T>* t = turned + ((block - group.begin) * a_ + a) * lanes;
          for (int64_t l = 0; l < count; ++l) {
#pragma GCC unroll 8
            for (int64_t r = 0; r < r_; ++r) sums[r] += t[l] * u[r * a_ * s.m + l];
          }
        }
      }
#pragma GCC unroll 8
      for (int64_t r = 0; r < r_; ++r) {
        T* dw = d_maps + (i * x_ + x + r) * row + k;
        store(dw, load(dw, ks) + sums[r], ks);
      }
    };
    int64_t x = 0;
    for (; x + kRows <= x_; x += kRows) rows(x, std::integral_constant<int64_t, kRows>{});
    for (; x < x_; ++x) rows(x, std::integral_constant<int64_t, 1>{});
  }
}

// The gradient of the bias, over a group of instances, is added to.
template <typename T>
inline void pull_bias(const Sizes& s, const Group& group, const Vec<T>* dvs, T* d_bias) {
  const int64_t p = s.poses();
  for (int64_t k = 0; k < p; ++k) {
    Vec<T> sum{};
    for (int64_t block = 0; block < group.end - group.begin; ++block) sum += dvs[block * p + k];
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
