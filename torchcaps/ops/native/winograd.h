// Correlations with three taps, four outputs at a time: six products along each axis instead of twelve (lavin2016).
//
// A tile of a signal is a polynomial, and so is a kernel: both are evaluated at six points, the values multiplied, and
// the outputs read off them. The points are 0, infinity, and a, -a, 1/a, -1/a for a = sqrt(1/2), which make the matrices
// small: of single precision less than half is lost of what 1 and 2 in the place of a and 1/a would lose.
#pragma once

#include "lanes.h"

namespace torchcaps {

constexpr int kTaps = 3, kStep = 4, kPoints = kStep + kTaps - 1;

// For each kind, what stands at the points for each number of a tile.
namespace points {

constexpr double a = 0.70710678118654752440, b = 1 / a;

constexpr double signal[kPoints][kPoints] = {
    {1, 0, -2.5, 0, 1, 0},  {0, -2 * a, -2, a, 1, 0},   {0, 2 * a, -2, -a, 1, 0},
    {0, -b / 2, -.5, b, 1, 0}, {0, b / 2, -.5, -b, 1, 0}, {0, 1, 0, -2.5, 0, 1},
};
constexpr double kernel[kPoints][kTaps] = {
    {1, 0, 0},
    {-2 / 3., -2 / 3. * a, -1 / 3.},
    {-2 / 3., 2 / 3. * a, -1 / 3.},
    {1 / 6., b / 6, 1 / 3.},
    {1 / 6., -b / 6, 1 / 3.},
    {0, 0, 1},
};
constexpr double result[kPoints][kStep] = {
    {1, 0, 0, 0}, {1, a, .5, a / 2}, {1, -a, .5, -a / 2}, {1, b, 2, 2 * b}, {1, -b, 2, -2 * b}, {0, 0, 0, 1},
};

}  // namespace points

// Both axes of the transform by a matrix M, of which zeros cost nothing: M x M' and, as its transpose, M' y M.
template <typename T, int E, const double (&M)[kPoints][E]>
class Winograd {
 public:
  int64_t room() const { return 0; }

  // As `Grid::analyse`, with every number alone.
  template <typename Get, typename Put>
  void analyse(Vec<T>*, Get x, Put put) const {
    Vec<T> lines[E][kPoints];
    for (int i = 0; i < E; ++i) {
      Vec<T> line[E];
      for (int j = 0; j < E; ++j) line[j] = x(i, j);
      times<kPoints, E, false>(line, lines[i]);
    }
    for (int k = 0; k < kPoints; ++k) {
      Vec<T> line[E], out[kPoints];
      for (int i = 0; i < E; ++i) line[i] = lines[i][k];
      times<kPoints, E, false>(line, out);
      for (const Vec<T>& v : out) put(true, v, Vec<T>{});
    }
  }

  // As `Grid::synthesise`.
  template <typename Get, typename Add>
  void synthesise(Vec<T>*, Get get, Add add) const {
    Vec<T> lines[kPoints][E];
    for (int k = 0; k < kPoints; ++k) {
      Vec<T> line[kPoints], none;
      for (Vec<T>& v : line) get(true, v, none);
      times<E, kPoints, true>(line, lines[k]);
    }
    for (int i = 0; i < E; ++i) {
      Vec<T> line[kPoints], out[E];
      for (int k = 0; k < kPoints; ++k) line[k] = lines[k][i];
      times<E, kPoints, true>(line, out);
      for (int j = 0; j < E; ++j) add(i, j, out[j]);
    }
  }

 private:
  // out = M in, or M' in: sums that the compiler writes out.
  template <int rows, int cols, bool turned>
  static void times(const Vec<T>* in, Vec<T>* out) {
    each<rows>([&](auto r) {
      Vec<T> sum{};
      each<cols>([&](auto c) {
        constexpr int row = decltype(r)::value, col = decltype(c)::value;
        constexpr double m = turned ? M[col][row] : M[row][col];
        if constexpr (m == 1) {
          sum += in[col];
        } else if constexpr (m != 0) {
          sum += in[col] * T(m);
        }
      });
      out[r] = sum;
    });
  }

  template <int count, typename Body>
  static void each(Body body) {
    [&]<int... k>(std::integer_sequence<int, k...>) {
      (body(std::integral_constant<int, k>{}), ...);
    }(std::make_integer_sequence<int, count>{});
  }
};

}  // namespace torchcaps
