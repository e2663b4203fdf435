// Part of a matrix, columns as rows, tile by tile through registers and the nearest cache.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace torchcaps {

constexpr int64_t kSide = 16;  // of the largest tile

template <int64_t n>
using Fixed = std::integral_constant<int64_t, n>;

// Calls tile(row, column, height, width) for tiles that cover `height` rows and `width` columns. The sizes of a tile are
// constants: compilers make few vector instructions of loops whose bounds they do not know.
template <typename Tile>
inline void over_tiles(int64_t height, int64_t width, Tile tile) {
  const auto across = [&](int64_t r, auto high) {
    int64_t c = 0;
    for (; c + kSide <= width; c += kSide) tile(r, c, high, Fixed<kSide>{});
    for (; c + 4 <= width; c += 4) tile(r, c, high, Fixed<4>{});
    for (; c < width; ++c) tile(r, c, high, Fixed<1>{});
  };
  int64_t r = 0;
  for (; r + kSide <= height; r += kSide) across(r, Fixed<kSide>{});
  for (; r + 8 <= height; r += 8) across(r, Fixed<8>{});
  for (; r < height; ++r) across(r, Fixed<1>{});
}

// `height` rows of `width` numbers, `stride` apart, become columns: column c goes to the row that begins at to + rows[c].
template <typename T>
inline void turn(const T* from, int64_t stride, T* to, const int64_t* rows, int64_t height, int64_t width) {
  over_tiles(height, width, [&](int64_t row, int64_t column, auto high, auto wide) {
    T held[wide][high];
    for (int64_t r = 0; r < high; ++r) {
      for (int64_t c = 0; c < wide; ++c) held[c][r] = from[(row + r) * stride + column + c];
    }
    for (int64_t c = 0; c < wide; ++c) std::memcpy(to + rows[column + c] + row, held[c], high * sizeof(T));
  });
}

// What `turn` does, backwards, added to what is there: the rows at from + rows[c] are columns of what lies at `to`.
template <typename T>
inline void add_turned(const T* from, const int64_t* rows, T* to, int64_t stride, int64_t height, int64_t width) {
  over_tiles(height, width, [&](int64_t row, int64_t column, auto high, auto wide) {
    T held[high][wide];
    for (int64_t c = 0; c < wide; ++c) {
      for (int64_t r = 0; r < high; ++r) held[r][c] = from[rows[column + c] + row + r];
    }
    for (int64_t r = 0; r < high; ++r) {
      for (int64_t c = 0; c < wide; ++c) to[(row + r) * stride + column + c] += held[r][c];
    }
  });
}

}  // namespace torchcaps
