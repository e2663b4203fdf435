// Tiles: the votes of a few children for a block of instances, and their gradients, a few columns at a time.
//
// What belongs to a parent is fetched once for all children of a tile and stays in registers while they pass by; what
// belongs to a child lies in scratch memory that fits the first cache. Only so do the many poses of a convolution's
// parents not come from the second cache for every child.
#pragma once

#include "votes.h"

namespace torchcaps {

constexpr int64_t kColumns = 4;   // of a pose, at a time
constexpr int64_t kChildren = 4;  // of a tile, at most

// Fewer where their votes would not stay in the second cache.
inline int64_t children_at_once(const Sizes& s) { return std::clamp<int64_t>(2048 / s.poses(), 1, kChildren); }

// Neighbouring columns of a row of a pose, in registers.
template <typename T, int64_t N, int A>
struct Columns {
  Vec<T> at[N];

  Columns() : at{} {}
  Columns(const Vec<T>* from, int64_t a_) {
#pragma GCC unroll 8
    for (int64_t n = 0; n < N; ++n) at[n] = from[n * (A ? A : a_)];
  }
  void to(Vec<T>* pose, int64_t a_) const {
#pragma GCC unroll 8
    for (int64_t n = 0; n < N; ++n) pose[n * (A ? A : a_)] = at[n];
  }
  Vec<T>& operator[](int64_t n) { return at[n]; }
  const Vec<T>& operator[](int64_t n) const { return at[n]; }
};

// `each(k, j, y, a, width)` for `width` columns from y of row a of parent j's pose, whose first number is k, until all
// are done; `done(j, a)` after a row.
constexpr auto kNothing = [](int64_t, int64_t) {};
template <int A, int X, int Y, typename Each, typename Done = decltype(kNothing)>
inline void over_parent(const Shape<A, X, Y>& shape, int64_t j, Each each, Done done = kNothing) {
  const int64_t a_ = shape.a(), y_ = shape.y();
  for (int64_t a = 0; a < a_; ++a) {
    int64_t y = 0;
    for (; y + kColumns <= y_; y += kColumns) {
      each((j * y_ + y) * a_ + a, j, y, a, std::integral_constant<int64_t, kColumns>{});
    }
    if constexpr (Y % kColumns || !Y) {
      for (; y < y_; ++y) each((j * y_ + y) * a_ + a, j, y, a, std::integral_constant<int64_t, 1>{});
    }
    done(j, a);
  }
}

// The same for all parents.
template <int A, int X, int Y, typename Each, typename Done = decltype(kNothing)>
inline void over_columns(const Shape<A, X, Y>& shape, Each each, Done done = kNothing) {
  for (int64_t j = 0; j < shape.s.j; ++j) over_parent(shape, j, each, done);
}

template <typename T, int A, int X, int Y>
struct Tile {
  const Shape<A, X, Y>& shape;
  const Inputs<T>& in;
  const int64_t i, children, m, count;  // the first child, how many, the first instance, how many
  Vec<T>* const us;                     // [c][x][a]
  Vec<T> weights[kChildren];

  static int64_t numbers(const Sizes& s) { return children_at_once(s) * s.x * s.a; }

  Tile(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t end, int64_t m, Vec<T>* us)
      : shape(shape),
        in(in),
        i(i),
        children(std::min(children_at_once(shape.s), end - i)),
        m(m),
        count(std::min(Lanes<T>::n, shape.s.m - m)),
        us(us) {
    const Sizes& s = shape.s;
    const T* from = in.u + i * s.x * s.a * s.m + m;
    for (int64_t k = 0; k < children * s.x * s.a; ++k) us[k] = load(from + k * s.m, count);
    for (int64_t c = 0; c < children; ++c) weights[c] = in.weight_at(i + c, m, count, s);
  }

  // What the logits [c][j] begin with: the prior, and perhaps something that is the same for all children.
  void begin(Vec<T>* logits, const Vec<T>* base = nullptr) const {
    for (int64_t c = 0; c < children; ++c) {
      for (int64_t j = 0; j < shape.s.j; ++j, ++logits) {
        *logits = in.prior_at(i + c, j, m, count, shape.s);
        if (base) *logits += base[j];
      }
    }
  }

  // What the gradients [c][j] of the couplings begin with: that of their sum.
  void begin(Vec<T>* dr, const T* g_mass) const {
    for (int64_t j = 0; j < shape.s.j; ++j) {
      const Vec<T> g = load(g_mass + j * shape.s.m + m, count);
      for (int64_t c = 0; c < children; ++c) dr[c * shape.s.j + j] = g;
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

  // Adds to child c's gradient du, laid out like us, what comes from row a of the gradient dv of its vote for parent j.
  void pull(int64_t c, int64_t j, int64_t a, const Vec<T>* dv, Vec<T>* du) const {
    constexpr int64_t kRows = !X || X > 8 ? 8 : X;  // of a map, at a time
    const int64_t a_ = shape.a(), x_ = shape.x(), y_ = shape.y(), row = shape.s.j * y_;
    const T* w = maps(c, j, 0);
    dv += a;
    du += c * x_ * a_ + a;
    auto rows = [&](int64_t x, auto height) {
      Columns<T, height, A> sums(du + x * a_, a_);
#pragma GCC unroll 4
      for (int64_t y = 0; y < y_; ++y) {
#pragma GCC unroll 8
        for (int64_t r = 0; r < height; ++r) sums[r] += dv[y * a_] * w[(x + r) * row + y];
      }
      sums.to(du + x * a_, a_);
    };
    int64_t x = 0;
    for (; x + kRows <= x_; x += kRows) rows(x, std::integral_constant<int64_t, kRows>{});
    if constexpr (!X) {
      for (; x < x_; ++x) rows(x, std::integral_constant<int64_t, 1>{});
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

// Gradients of votes for some parents: how many numbers of them a row of a pose has in all, how many vectors lie between
// those of two blocks of instances, and whether what they give to the maps is the first that arrives there.
struct Pulled {
  int64_t columns, stride;
  bool first;
};

// Adds to the gradients of a child's maps the sums of u dv over rows and n blocks of instances; a block of children is
// `stride` vectors.
template <typename T, int A, int X, int Y>
inline void pull_map(const Shape<A, X, Y>& shape, int64_t n, const Vec<T>* us, int64_t stride, const Vec<T>* dvs,
                     const Pulled& of, T* d_map) {
  const int64_t a_ = shape.a(), x_ = shape.x(), row = shape.s.j * shape.y();
  auto corner = [&](int64_t x, auto height, int64_t k, auto width) {
    constexpr int64_t r_ = height, c_ = width, lanes = Lanes<T>::n, room = (r_ * c_ + lanes - 1) / lanes * lanes;
    Vec<T> sums[room] = {};
    for (int64_t block = 0; block < n; ++block) {
#pragma GCC unroll 4
      for (int64_t a = 0; a < a_; ++a) {
        const Vec<T>*u = us + block * stride + x * a_ + a, *dv = dvs + block * of.stride + k * a_ + a;
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
      T* dw = d_map + (x + r) * row + k;
      for (int64_t c = 0; c < c_; ++c) dw[c] = of.first ? found[r * c_ + c] : dw[c] + found[r * c_ + c];
    }
  };
  auto rows = [&](int64_t x, auto height) {
    int64_t k = 0;
    for (; k + kColumns <= of.columns; k += kColumns) {
      corner(x, height, k, std::integral_constant<int64_t, kColumns>{});
    }
    if constexpr (Y % kColumns || !Y) {
      for (; k < of.columns; ++k) corner(x, height, k, std::integral_constant<int64_t, 1>{});
    }
  };
  int64_t x = 0;
  for (; x + kColumns <= x_; x += kColumns) rows(x, std::integral_constant<int64_t, kColumns>{});
  if constexpr (X % kColumns || !X) {
    for (; x < x_; ++x) rows(x, std::integral_constant<int64_t, 1>{});
  }
}

// The same for child i where there are too few vectors to add up before a sum across one: the gradients of the votes
// are turned, so that their neighbouring numbers lie in a vector. `turned` is room for them.
template <typename T, int A, int X, int Y>
inline void pull_map_turned(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, const Group& group,
                            const Vec<T>* dvs, const Pulled& of, T* d_map, Vec<T>* turned) {
  const Sizes& s = shape.s;
  constexpr int64_t lanes = Lanes<T>::n, kRows = !X || X > 8 ? 8 : X;  // of a map, at a time
  const int64_t a_ = shape.a(), x_ = shape.x(), row = s.j * shape.y();
  for (int64_t k = 0; k < of.columns; k += lanes) {
    const int64_t ks = std::min(lanes, of.columns - k);
    for (int64_t block = 0; block < group.end - group.begin; ++block) {
      for (int64_t a = 0; a < a_; ++a) {
        Vec<T>* t = turned + (block * a_ + a) * lanes;
        for (int64_t c = 0; c < lanes; ++c) t[c] = c < ks ? dvs[block * of.stride + (k + c) * a_ + a] : Vec<T>{};
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
        T* dw = d_map + (x + r) * row + k;
        store(dw, of.first ? sums[r] : load(dw, ks) + sums[r], ks);
      }
    };
    int64_t x = 0;
    for (; x + kRows <= x_; x += kRows) rows(x, std::integral_constant<int64_t, kRows>{});
    for (; x < x_; ++x) rows(x, std::integral_constant<int64_t, 1>{});
  }
}

// What a group of instances gives to the maps of `children` children from i, for the parents from j on that `of` is of:
// us [block][c][x][a] and dvs [c][block][k], with room for n blocks, are the children and the gradients of their votes.
template <typename T, int A, int X, int Y>
inline void pull_maps(const Shape<A, X, Y>& shape, const Inputs<T>& in, int64_t i, int64_t children,
                      const Group& group, int64_t n, const Vec<T>* us, const Vec<T>* dvs, int64_t j, const Pulled& of,
                      T* d_maps, Vec<T>* turned) {
  const Sizes& s = shape.s;
  const int64_t xa = s.x * s.a, blocks = group.end - group.begin;
  for (int64_t c = 0; c < children; ++c) {
    const Vec<T>* dv = dvs + c * n * of.stride;
    T* d_map = d_maps + (i + c) * s.x * s.j * s.y + j * s.y;
    if (s.x > 2 * s.a * blocks) {
      pull_map_turned(shape, in, i + c, group, dv, of, d_map, turned);
    } else {
      pull_map(shape, blocks, us + c * xa, children_at_once(s) * xa, dv, of, d_map);
    }
  }
}

}  // namespace torchcaps
