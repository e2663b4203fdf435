// Part of a matrix, columns as rows, tile by tile through registers and the nearest cache.
#pragma once

#include <cstdint>
#include <cstring>

namespace torchcaps {

constexpr int64_t kSide = 16;  // of the largest tile

// Compilers make few vector instructions of loops whose bounds they do not know.
template <int64_t height, int64_t width, typename T>
inline void turn_tile(const T* from, int64_t stride, T* to, const int64_t* rows) {
  T held[width][height];
  for (int64_t r = 0; r < height; ++r) {
    for (int64_t c = 0; c < width; ++c) held[c][r] = from[r * stride + c];
  }
  for (int64_t c = 0; c < width; ++c) std::memcpy(to + rows[c], held[c], height * sizeof(T));
}

template <int64_t height, typename T>
inline void turn_across(const T* from, int64_t stride, T* to, const int64_t* rows, int64_t width) {
  int64_t c = 0;
  for (; c + kSide <= width; c += kSide) turn_tile<height, kSide>(from + c, stride, to, rows + c);
  for (; c + 4 <= width; c += 4) turn_tile<height, 4>(from + c, stride, to, rows + c);
  for (; c < width; ++c) turn_tile<height, 1>(from + c, stride, to, rows + c);
}

// `height` rows of `width` numbers, `stride` apart, become columns: column c goes to the row that begins at to + rows[c].
template <typename T>
inline void turn(const T* from, int64_t stride, T* to, const int64_t* rows, int64_t height, int64_t width) {
  int64_t r = 0;
  for (; r + kSide <= height; r += kSide) turn_across<kSide>(from + r * stride, stride, to + r, rows, width);
  for (; r + 8 <= height; r += 8) turn_across<8>(from + r * stride, stride, to + r, rows, width);
  for (; r < height; ++r) turn_across<1>(from + r * stride, stride, to + r, rows, width);
}

}  // namespace torchcaps
