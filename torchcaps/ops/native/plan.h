// How a convolution is cut into transforms: by the phases of its stride, and into tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "winograd.h"

namespace torchcaps {

// What is transformed: the input of a convolution, its kernel, or its output.
enum class Kind { signal, kernel, result };

// One axis of a convolution: its sizes, and how it is cut into transforms of `n` numbers.
struct Cut {
  int64_t in, kernel, stride, padding, n;
  int64_t out() const { return (in + 2 * padding - kernel) / stride + 1; }
  int64_t taps() const { return (kernel + stride - 1) / stride; }  // of the kernel in one phase
  int64_t step() const { return n - taps() + 1; }                  // outputs of a tile
  int64_t tiles() const { return (out() + step() - 1) / step(); }

  int64_t length(Kind kind) const { return kind == Kind::signal ? in : kind == Kind::kernel ? kernel : out(); }
  int64_t extent(Kind kind) const { return kind == Kind::signal ? n : kind == Kind::kernel ? taps() : step(); }
  int64_t tiles(Kind kind) const { return kind == Kind::kernel ? 1 : tiles(); }
  int64_t phases(Kind kind) const { return kind == Kind::result ? 1 : stride; }
  // Which numbers of the image the tiles from `first` to `last` reach: from where, and up to where.
  std::pair<int64_t, int64_t> reach(Kind kind, int64_t first, int64_t last) const {
    const bool fine = kind == Kind::signal;
    const int64_t from = fine ? first * step() * stride - padding : first * step();
    const int64_t to = fine ? ((last - 1) * step() + n) * stride - padding : last * step();
    return {first ? std::clamp<int64_t>(from, 0, length(kind)) : 0,
            last < tiles() ? std::clamp<int64_t>(to, 0, length(kind)) : length(kind)};
  }
  // Where number k of a tile and phase stands in the image, -1 if nowhere.
  int64_t place(Kind kind, int64_t tile, int64_t phase, int64_t k) const {
    const int64_t at = kind == Kind::signal   ? (tile * step() + k) * stride + phase - padding
                       : kind == Kind::kernel ? k * stride + phase
                                              : tile * step() + k;
    return at < length(kind) ? std::max<int64_t>(at, -1) : -1;
  }
};

struct Plan {
  Cut h, w;
  int64_t pixels(Kind kind) const { return h.length(kind) * w.length(kind); }
  int64_t tiles(Kind kind) const { return h.tiles(kind) * w.tiles(kind); }
  int64_t phases(Kind kind) const { return h.phases(kind) * w.phases(kind); }
  // Whether Winograd's transform takes the place of Fourier's: it has fewer slots, and costs less.
  bool winograd() const { return h.taps() == kTaps && w.taps() == kTaps && h.n == kPoints && w.n == kPoints; }
  // Three slots for a frequency, one for each that is its own conjugate.
  int64_t slots() const {
    if (winograd()) return kPoints * kPoints;
    const int64_t real = (h.n % 2 ? 1 : 2) * (w.n % 2 ? 1 : 2);
    return 3 * (h.n * w.n - real) / 2 + real;
  }

  // For every tile, phase and number its place in the image; where there is none, the place after the last.
  std::vector<int32_t> places(Kind kind) const {
    std::vector<int32_t> found;
    for (int64_t tile = 0; tile < tiles(kind); ++tile) {
      for (int64_t phase = 0; phase < phases(kind); ++phase) {
        for (int64_t i = 0; i < h.extent(kind); ++i) {
          const int64_t y = h.place(kind, tile / w.tiles(kind), phase / w.phases(kind), i);
          for (int64_t j = 0; j < w.extent(kind); ++j) {
            const int64_t x = w.place(kind, tile % w.tiles(kind), phase % w.phases(kind), j);
            found.push_back(y < 0 || x < 0 ? pixels(kind) : y * w.length(kind) + x);
          }
        }
      }
    }
    return found;
  }
};

}  // namespace torchcaps
