// Products of matrices of which one is packed: sums stay in registers, whatever is multiplied stays in the first cache.
//
// The product that torch calls has half the processor's vectors where MKL does not know it (AVX-512 of AMD's), and takes
// no part of a matrix that another pass has just left in the cache.
#pragma once

#include <ATen/Parallel.h>

#include "lanes.h"

namespace torchcaps {

#ifdef __AVX512F__
constexpr int kHeight = 12;  // lines at a time: with two vectors each, as many sums as there are registers for
#else
constexpr int kHeight = 6;
#endif

// A matrix (k n), columns side by side in panels of two vectors; those after the last are zero.
template <typename T>
struct Panels {
  static constexpr int64_t width = 2 * Lanes<T>::n;
  static int64_t padded(int64_t n) { return (n + width - 1) / width * width; }
  static int64_t numbers(int64_t k, int64_t n) { return k * padded(n); }

  // From a matrix (k n), lines of which are so long.
  static void pack(const T* from, int64_t k, int64_t n, int64_t line, T* to) {
    for (int64_t first = 0; first < n; first += width) {
      const int64_t some = std::min(width, n - first);
      for (int64_t row = 0; row < k; ++row, to += width) {
        std::fill(std::copy_n(from + row * line + first, some, to), to + width, T(0));
      }
    }
  }

  // From the matrix turned, (n k): as many lines as a vector has numbers at a time.
  static void pack_turned(const T* from, int64_t k, int64_t n, int64_t line, T* to) {
    constexpr int64_t lanes = Lanes<T>::n;
    for (int64_t first = 0; first < padded(n); first += lanes) {
      T* panel = to + first / width * width * k + first % width;
      for (int64_t row = 0; row < k; row += lanes) {
        const int64_t some = std::min(lanes, k - row);
        Vec<T> block[lanes];
        for (int64_t c = 0; c < lanes; ++c) {
          block[c] = first + c < n ? load(from + (first + c) * line + row, some) : Vec<T>{};
        }
        transpose<T>(block);
        for (int64_t r = 0; r < some; ++r) store(panel + (row + r) * width, block[r], lanes);
      }
    }
  }
};

// H lines of a product: those of `a` times a panel. Sums run along k alone, so a line never depends on its neighbours.
template <typename T, int H>
inline void multiply_lines(const T* a, int64_t line_a, const T* panel, int64_t k, T* to, int64_t line_to) {
  constexpr int64_t n = Lanes<T>::n;
  Vec<T> left[H] = {}, right[H] = {};
  for (int64_t row = 0; row < k; ++row, panel += 2 * n) {
    const Vec<T> b = load(panel, n), c = load(panel + n, n);
#pragma GCC unroll 12
    for (int h = 0; h < H; ++h) {
      const T x = a[h * line_a + row];
      left[h] += b * x;
      right[h] += c * x;
    }
  }
#pragma GCC unroll 12
  for (int h = 0; h < H; ++h) {
    store(to + h * line_to, left[h], n);
    store(to + h * line_to + n, right[h], n);
  }
}

template <typename T, int H = kHeight>
inline void multiply_some(int64_t height, const T* a, int64_t line_a, const T* panel, int64_t k, T* to, int64_t line_to) {
  if (height == H) return multiply_lines<T, H>(a, line_a, panel, k, to, line_to);
  if constexpr (H > 1) multiply_some<T, H - 1>(height, a, line_a, panel, k, to, line_to);
}

// (m k) times a packed (k n), to lines that have room for all columns of its panels. Lines are taken in lots alike.
template <typename T>
void multiply(const T* a, int64_t m, int64_t line_a, const T* packed, int64_t k, int64_t n, T* to, int64_t line_to) {
  const int64_t lots = (m + kHeight - 1) / kHeight;
  for (int64_t first = 0; first < n; first += Panels<T>::width, packed += k * Panels<T>::width) {
    for (int64_t lot = 0; lot < lots; ++lot) {
      const int64_t begin = m * lot / lots, end = m * (lot + 1) / lots;
      multiply_some<T>(end - begin, a + begin * line_a, line_a, packed, k, to + begin * line_to + first, line_to);
    }
  }
}

}  // namespace torchcaps
