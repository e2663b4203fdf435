// The real Fourier transform of a small grid, instances side by side in vectors, and its transpose.
//
// A grid of n_h by n_w numbers has as many real numbers in its spectrum: of every pair of conjugate frequencies one is
// taken. A frequency is re - i im. Cosines are even and sines odd, so a line is folded in half before it is multiplied.
#pragma once

#include <algorithm>

#include "lanes.h"

namespace torchcaps {

// out[r] = sum_c m[r][c] in[c], four sums at a time, which do not wait for each other.
template <typename T>
inline void multiply(const T* m, int64_t width, int64_t rows, int64_t cols, const Vec<T>* in, Vec<T>* out) {
  auto some = [&](int64_t r, auto height) {
    constexpr int64_t r_ = height;
    Vec<T> sums[r_] = {};
    for (int64_t c = 0; c < cols; ++c) {
      const Vec<T> x = in[c];
#pragma GCC unroll 6
      for (int64_t k = 0; k < r_; ++k) sums[k] += x * m[(r + k) * width + c];
    }
#pragma GCC unroll 6
    for (int64_t k = 0; k < r_; ++k) out[r + k] = sums[k];
  };
  int64_t r = 0;
  for (; r + 6 <= rows; r += 6) some(r, std::integral_constant<int64_t, 6>{});
  for (; r + 4 <= rows; r += 4) some(r, std::integral_constant<int64_t, 4>{});
  for (; r < rows; ++r) some(r, std::integral_constant<int64_t, 1>{});
}

// One axis of the transform, of n numbers of which only the first `extent` need not be zero.
template <typename T>
class Axis {
 public:
  Axis(int64_t n, int64_t extent)
      : n(n), extent(extent), evens(n / 2 + 1), odds((n - 1) / 2), cos_(evens * evens), sin_(odds * odds) {
    const double turn = 2 * 3.14159265358979323846 / n;
    for (int64_t k = 0; k < evens; ++k) {
      for (int64_t j = 0; j < evens; ++j) cos_[k * evens + j] = std::cos(turn * (k * j % n));
    }
    for (int64_t k = 0; k < odds; ++k) {
      for (int64_t j = 0; j < odds; ++j) sin_[k * odds + j] = std::sin(turn * ((k + 1) * (j + 1) % n));
    }
  }

  const int64_t n, extent, evens, odds;  // evens: frequencies with a cosine of their own; odds: those with a sine too

  // x_j + x_{n-j} and x_j - x_{n-j} of the first `count` numbers; the others are zero. odd[0] belongs to x_1.
  void fold(const Vec<T>* x, int64_t count, Vec<T>* even, Vec<T>* odd) const {
    for (int64_t j = 0; j < std::min(count, evens); ++j) even[j] = x[j];
    for (int64_t j = 1; j <= std::min(count - 1, odds); ++j) {
      odd[j - 1] = x[j];
      if (n - j < count) {
        even[j] += x[n - j];
        odd[j - 1] -= x[n - j];
      }
    }
  }

  // Sums over the first `count` numbers, folded, for the first `rows` frequencies: cosines and sines; and since both
  // tables are symmetric, sums over frequencies for the first numbers.
  void cosines(const Vec<T>* even, int64_t count, Vec<T>* out, int64_t rows) const {
    multiply<T>(cos_.data(), evens, std::min(rows, evens), std::min(count, evens), even, out);
  }
  void sines(const Vec<T>* odd, int64_t count, Vec<T>* out, int64_t rows) const {  // out[0] belongs to the second
    multiply<T>(sin_.data(), odds, std::min(rows - 1, odds), std::min(count - 1, odds), odd, out);
  }

  bool alone(int64_t k) const { return k == 0 || 2 * k == n; }  // its own conjugate

 private:
  std::vector<T> cos_, sin_;
};

// Both axes. Frequencies are counted column by column; in the columns that are their own conjugates the upper half.
template <typename T>
class Grid {
 public:
  Grid(int64_t n_h, int64_t n_w, int64_t extent_h, int64_t extent_w) : h(n_h, extent_h), w(n_w, extent_w) {}
  const Axis<T> h, w;

  // How many vectors of scratch a transform takes.
  int64_t room() const { return 2 * w.evens * h.n + 10 * (std::max(h.n, w.n) + 2); }

  // The spectrum of x(i, j), i and j below the extents: `put(alone, re, im)` is called for every frequency in turn.
  template <typename Get, typename Put>
  void analyse(Vec<T>* scratch, Get x, Put put) const {
    const int64_t line = std::max(h.n, w.n) + 2;
    Vec<T>*re = scratch, *im = re + w.evens * h.n, *in = im + w.evens * h.n;
    Vec<T>*even = in + line, *odd = even + line, *out = odd + line, *even2 = out + line, *odd2 = even2 + line;
    Vec<T>*rc = odd2 + line, *is = rc + line, *ic = is + line, *rs = ic + line;
    for (int64_t i = 0; i < h.extent; ++i) {
      for (int64_t j = 0; j < w.extent; ++j) in[j] = x(i, j);
      w.fold(in, w.extent, even, odd);
      w.cosines(even, w.extent, out, w.evens);
      for (int64_t k = 0; k < w.evens; ++k) re[k * h.n + i] = out[k];
      w.sines(odd, w.extent, out, w.odds + 1);
      for (int64_t k = 0; k < w.odds; ++k) im[(k + 1) * h.n + i] = out[k];
    }
    for (int64_t k = 0; k < w.evens; ++k) {
      h.fold(re + k * h.n, h.extent, even, odd);
      h.cosines(even, h.extent, rc, h.evens);
      h.sines(odd, h.extent, rs, h.odds + 1);
      if (w.alone(k)) {
        for (int64_t l = 0; l < h.evens; ++l) put(h.alone(l), rc[l], h.alone(l) ? Vec<T>{} : rs[l - 1]);
        continue;
      }
      h.fold(im + k * h.n, h.extent, even2, odd2);
      h.cosines(even2, h.extent, ic, h.evens);
      h.sines(odd2, h.extent, is, h.odds + 1);
      for (int64_t l = 0; l < h.n; ++l) {
        const int64_t mirror = std::min(l, h.n - l);
        if (h.alone(l)) {
          put(false, rc[l], ic[l]);
        } else if (l == mirror) {
          put(false, rc[l] - is[l - 1], ic[l] + rs[l - 1]);
        } else {
          put(false, rc[mirror] + is[mirror - 1], ic[mirror] - rs[mirror - 1]);
        }
      }
    }
  }

  // The transpose of `analyse`: `get(alone, re, im)` gives every frequency in turn, `add(i, j, x)` is given numbers.
  template <typename Get, typename Add>
  void synthesise(Vec<T>* scratch, Get get, Add add) const {
    const int64_t line = std::max(h.n, w.n) + 2;
    Vec<T>*re = scratch, *im = re + w.evens * h.n, *res = im + w.evens * h.n, *ims = res + line;
    Vec<T>*even = ims + line, *odd = even + line, *even2 = odd + line, *odd2 = even2 + line;
    Vec<T>*rc = odd2 + line, *is = rc + line, *ic = is + line, *rs = ic + line;
    for (int64_t k = 0; k < w.evens; ++k) {
      const bool alone = w.alone(k);
      const int64_t count = alone ? h.evens : h.n;
      for (int64_t l = 0; l < count; ++l) get(alone && h.alone(l), res[l], ims[l]);
      if (alone) {
        h.cosines(res, h.evens, rc, h.extent);
        h.sines(ims + 1, h.odds + 1, is, h.extent);
        spread(h, rc, is, T(1), [&](int64_t i, Vec<T> v) { re[i * w.evens + k] = v; });
        continue;
      }
      h.fold(res, h.n, even, odd);
      h.fold(ims, h.n, even2, odd2);
      h.cosines(even, h.n, rc, h.extent);
      h.sines(odd2, h.n, is, h.extent);
      h.cosines(even2, h.n, ic, h.extent);
      h.sines(odd, h.n, rs, h.extent);
      spread(h, rc, is, T(1), [&](int64_t i, Vec<T> v) { re[i * w.evens + k] = v; });
      spread(h, ic, rs, T(-1), [&](int64_t i, Vec<T> v) { im[i * w.evens + k] = v; });
    }
    for (int64_t i = 0; i < h.extent; ++i) {
      w.cosines(re + i * w.evens, w.evens, rc, w.extent);
      w.sines(im + i * w.evens + 1, w.odds + 1, is, w.extent);
      spread(w, rc, is, T(1), [&](int64_t j, Vec<T> v) { add(i, j, v); });
    }
  }

 private:
  // c_j + s_j for the first half of an axis and c_{n-j} - s_{n-j} for the second; `sign` turns the sines round.
  template <typename Put>
  static void spread(const Axis<T>& axis, const Vec<T>* c, const Vec<T>* s, T sign, Put put) {
    for (int64_t j = 0; j < axis.extent; ++j) {
      const int64_t mirror = std::min(j, axis.n - j);
      if (axis.alone(j)) {
        put(j, c[j]);
      } else {
        put(j, j == mirror ? c[j] + sign * s[j - 1] : c[mirror] - sign * s[mirror - 1]);
      }
    }
  }
};

}  // namespace torchcaps
