// Tiles: the votes of a few children for a block of instances, and their gradients, a few columns at a time.
//
// What belongs to a parent is fetched once for all children of a tile and stays in registers while they pass by; what
// belongs to a child lies in scratch memory that fits the first cache. Only so do the many poses of a convolution's
// parents not come from the second cache for every child.
#pragma once

#include "votes.h"

namespace torchcaps {

constexpr int64_t kChildren = 4;

// Neighbouring columns of a row of a pose, in registers.
template <typename T, int64_t N, int A>
struct Columns {
  Vec<T> at[N];

  Columns() : at{} {}
  Columns(const Vec<T>* from, int64_t a_) {
#pragma GCC unroll 4
    for (int64_t n = 0; n < N; ++n) at[n] = from[n * (A ? A : a_)];
  }
  void to(Vec<T>* pose, int64_t a_) const {
#pragma GCC unroll 4
    for (int64_t n = 0; n < N; ++n) pose[n * (A ? A : a_)] = at[n];
  }
  Vec<T>& operator[](int64_t n) { return at[n]; }
  const Vec<T>& operator[](int64_t n) const { return at[n]; }
};

// `each(k, j, y, a, width)` for `width` columns from y of row a of parent j's pose, whose first number is k, until all
// are done.
template <int A, int X, int Y, typename Each>
inline void over_columns(const Shape<A, X, Y>& shape, Each each) {
  const int64_t a_ = shape.a(), y_ = shape.y();
  for (int64_t j = 0; j < shape.s.j; ++j) {
    for (int64_t a = 0; a < a_; ++a) {
      int64_t y = 0;
      for (; y + kColumns <= y_; y += kColumns) {
        each((j * y_ + y) * a_ + a, j, y, a, std::integral_constant<int64_t, kColumns>{});
      }
      if constexpr (Y % kColumns || !Y) {
        for (; y < y_; ++y) each((j * y_ + y) * a_ + a, j, y, a, std::integral_constant<int64_t, 1>{});
      }
    }
  }
}

template <typename T, int A, int X, int Y>
struct Tile {
  const Shape<A, X, Y>& shape;
  const Inputs<T>& in;
  const int64_t i, children, m, count;  // the first child, how many, the first instance, how many
  Vec<T>* const us;                     // [c][x][a]
  Vec<T> weights[kChildren];

  static int64_t numbers(const Sizes& s) { return kChildren * s.x * s.a; }

  Tile(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t end, int64_t m, Vec<T>* us)
      : shape(shape),
        in(in),
        i(i),
        children(std::min(kChildren, end - i)),
        m(m),
        count(std::min(Lanes<T>::n, shape.s.m - m)),
        us(us) {
    const Sizes& s = shape.s;
    const T* from = in.u + i * s.x * s.a * s.m + m;
    for (int64_t k = 0; k < children * s.x * s.a; ++k) us[k] = load(from + k * s.m, count);
    for (int64_t c = 0; c < children; ++c) weights[c] = in.weight_at(i + c, m, count, s);
  }

  // What the logits [c][j] begin with: the prior, and what is the same for all children.
  void begin(Vec<T>* logits, const Vec<T>* base) const {
    for (int64_t c = 0; c < children; ++c) {
      for (int64_t j = 0; j < shape.s.j; ++j) *logits++ = in.prior_at(i + c, j, m, count, shape.s) + base[j];
    }
  }

  // Adds child c's vote to v.
  template <int64_t N>
  void vote(int64_t c, int64_t j, int64_t y, int64_t a, Columns<T, N, A>& v) const {
    const int64_t a_ = shape.a(), x_ = shape.x(), row = shape.s.j * shape.y();
    const Vec<T>* u = us + c * x_ * a_ + a;
    const T* w = maps(c, j, y);
#pragma GCC unroll 16
    for (int64_t x = 0; x < x_; ++x) {
#pragma GCC unroll 4
      for (int64_t n = 0; n < N; ++n) v[n] += u[x * a_] * w[x * row + n];
    }
  }

  // Adds to child c's gradient du, laid out like us, what comes from that of its vote.
  template <int64_t N>
  void pull(int64_t c, int64_t j, int64_t y, int64_t a, const Columns<T, N, A>& dv, Vec<T>* du) const {
    const int64_t a_ = shape.a(), x_ = shape.x(), row = shape.s.j * shape.y();
    const T* w = maps(c, j, y);
    du += c * x_ * a_ + a;
#pragma GCC unroll 16
    for (int64_t x = 0; x < x_; ++x) {
      Vec<T> sum = du[x * a_];
#pragma GCC unroll 4
      for (int64_t n = 0; n < N; ++n) sum += dv[n] * w[x * row + n];
      du[x * a_] = sum;
    }
  }

  // From the softmax c [c][j] of the logits and the gradients of weight * c, which become those of the logits.
  void pull_softmax(const Vec<T>* softmax, Vec<T>* d, T* d_weight, T* d_prior) const {
    const Sizes& s = shape.s;
    for (int64_t c = 0; c < children; ++c, softmax += s.j, d += s.j) {
      Vec<T> mean{};
      for (int64_t j = 0; j < s.j; ++j) mean += softmax[j] * d[j];
      if (d_weight) store(d_weight + (i + c) * s.m + m, mean, count);
      for (int64_t j = 0; j < s.j; ++j) {
        d[j] = weights[c] * softmax[j] * (d[j] - mean);
        if (d_prior) in.add_to_prior(d_prior, i + c, j, m, d[j], count, s);
      }
    }
  }

  void give(const Vec<T>* du, T* d_u) const {
    const Sizes& s = shape.s;
    d_u += i * s.x * s.a * s.m + m;
    for (int64_t k = 0; k < children * s.x * s.a; ++k) store(d_u + k * s.m, du[k], count);
  }

 private:
  const T* maps(int64_t c, int64_t j, int64_t y) const {
    return in.w + (i + c) * shape.x() * shape.s.j * shape.y() + j * shape.y() + y;
  }
};

// Adds to the gradients of a child's maps the sums of u dv over rows and n blocks of instances; a block of children is
// `stride` vectors.
template <typename T, int A, int X, int Y>
inline void pull_map(const Shape<A, X, Y>& shape, int64_t n, const Vec<T>* us, int64_t stride, const Vec<T>* dvs,
                     T* d_map) {
  const int64_t a_ = shape.a(), x_ = shape.x(), row = shape.s.j * shape.y(), p = shape.s.poses();
  auto corner = [&](int64_t x, auto height, int64_t k, auto width) {
    constexpr int64_t r_ = height, c_ = width, lanes = Lanes<T>::n, room = (r_ * c_ + lanes - 1) / lanes * lanes;
    Vec<T> sums[room] = {};
    for (int64_t block = 0; block < n; ++block) {
#pragma GCC unroll 4
      for (int64_t a = 0; a < a_; ++a) {
        const Vec<T>*u = us + block * stride + x * a_ + a, *dv = dvs + block * p + k * a_ + a;
#pragma GCC unroll 4
        for (int64_t r = 0; r < r_; ++r) {
#pragma GCC unroll 4
          for (int64_t c = 0; c < c_; ++c) sums[r * c_ + c] += u[r * a_] * dv[c * a_];
        }
      }
    }
    T found[room];
#pragma GCC unroll 16
    for (int64_t at = 0; at < room; at += lanes) store(found + at, totals<T>(sums + at), lanes);
    for (int64_t r = 0; r < r_; ++r) {
      for (int64_t c = 0; c < c_; ++c) d_map[(x + r) * row + k + c] += found[r * c_ + c];
    }
  };
  auto rows = [&](int64_t x, auto height) {
    int64_t k = 0;
    for (; k + kColumns <= row; k += kColumns) corner(x, height, k, std::integral_constant<int64_t, kColumns>{});
    if constexpr (Y % kColumns || !Y) {
      for (; k < row; ++k) corner(x, height, k, std::integral_constant<int64_t, 1>{});
    }
  };
  int64_t x = 0;
  for (; x + kColumns <= x_; x += kColumns) rows(x, std::integral_constant<int64_t, kColumns>{});
  if constexpr (X % kColumns || !X) {
    for (; x < x_; ++x) rows(x, std::integral_constant<int64_t, 1>{});
  }
}

}  // namespace torchcaps
