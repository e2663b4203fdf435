// Images (rows, channels, h, w) to spectra [slot][row, tile][phase, channel], and back by the transpose.
//
// A strided correlation is the sum, over the phases of the stride, of plain ones on coarser grids. These are cut into
// tiles that overlap by what the kernel reaches over; in the spectrum of a tile each frequency is one complex product.
// It is made of three real ones (Gauss): slot by slot, spectra of signal and kernel are multiplied as real matrices.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "fourier.h"
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

// The slots of a frequency. With signal x, kernel k and result y, y = x conj(k): y.re = s0 - s2 and y.im = s0 + s1 of
// the products s of their slots. The result's are weighted as the inverse transform wants them.
template <Kind kind, typename T>
struct Slots {
  T pair, single;
  explicit Slots(const Plan& plan)
      : pair(kind == Kind::result ? T(2) / (plan.h.n * plan.w.n) : T(1)),
        single(kind == Kind::result && !plan.winograd() ? pair / 2 : T(1)) {}

  void split(Vec<T> re, Vec<T> im, Vec<T> (&s)[3]) const {
    if constexpr (kind == Kind::signal) {
      s[0] = re + im, s[1] = re, s[2] = im;
    } else if constexpr (kind == Kind::kernel) {
      s[0] = re, s[1] = -re - im, s[2] = re - im;
    } else {
      s[0] = (re + im) * pair, s[1] = im * pair, s[2] = -re * pair;
    }
  }
  void join(const Vec<T> (&s)[3], Vec<T>& re, Vec<T>& im) const {
    if constexpr (kind == Kind::signal) {
      re = s[0] + s[1], im = s[0] + s[2];
    } else if constexpr (kind == Kind::kernel) {
      re = s[0] - s[1] + s[2], im = -s[1] - s[2];
    } else {
      re = (s[0] - s[2]) * pair, im = (s[0] + s[1]) * pair;
    }
  }
};

// Spectra: for each slot a matrix of `rows` lines. Slots begin an odd number of cache lines apart, for those of one
// line, which are read and written together, would else all want the same place in the cache.
template <typename T>
struct Spectra {
  T* first;
  int64_t rows, line;

  static int64_t stride(int64_t rows, int64_t line) {
    constexpr int64_t numbers = 64 / sizeof(T);
    return ((rows * line + numbers - 1) / numbers | 1) * numbers;
  }
  T* slot(int64_t k) const { return first + k * stride(rows, line); }
};

// Some channels of an image: `channels` of the `all` in each of its rows.
template <typename T>
struct Channels {
  T* first;
  int64_t rows, channels, all;
};

// `count` channels of `pixels` numbers each to one vector a pixel, and back.
template <typename T>
inline void into_lanes(const T* image, int64_t pixels, int64_t count, Vec<T>* to) {
  constexpr int64_t n = Lanes<T>::n;
  for (int64_t p = 0; p < pixels; p += n) {
    const int64_t some = std::min(n, pixels - p);
    Vec<T> block[n];
    for (int64_t c = 0; c < n; ++c) block[c] = c < count ? load(image + c * pixels + p, some) : Vec<T>{};
    transpose<T>(block);
    for (int64_t k = 0; k < some; ++k) to[p + k] = block[k];
  }
}

template <typename T>
inline void out_of_lanes(const Vec<T>* from, int64_t pixels, int64_t count, T* image) {
  constexpr int64_t n = Lanes<T>::n;
  for (int64_t p = 0; p < pixels; p += n) {
    const int64_t some = std::min(n, pixels - p);
    Vec<T> block[n];
    for (int64_t k = 0; k < n; ++k) block[k] = k < some ? from[p + k] : Vec<T>{};
    transpose<T>(block);
    for (int64_t c = 0; c < count; ++c) store(image + c * pixels + p, block[c], some);
  }
}

// The transform of a kind, given to `use`.
template <Kind kind, typename T, typename Use>
void with_grid(const Plan& plan, Use use) {
  if (!plan.winograd()) {
    use(Grid<T>(plan.h.n, plan.w.n, plan.h.extent(kind), plan.w.extent(kind)));
  } else if constexpr (kind == Kind::signal) {
    use(Winograd<T, kPoints, points::signal>());
  } else if constexpr (kind == Kind::kernel) {
    use(Winograd<T, kTaps, points::kernel>());
  } else {
    use(Winograd<T, kStep, points::result>());
  }
}

// A part of the work: `count` channels from c of one row of the image, in vectors, and where their spectra stand.
template <Kind kind, typename T, typename Each>
void for_each_part(const Plan& plan, const Channels<T>& of, Each each) {
  constexpr int64_t lanes = Lanes<T>::n;
  const int64_t blocks = (of.channels + lanes - 1) / lanes, pixels = plan.pixels(kind);
  with_grid<kind, T>(plan, [&](const auto& grid) {
    at::parallel_for(0, of.rows * blocks, 1, [&](int64_t begin, int64_t end) {
      Scratch<T> scratch(pixels + 1 + grid.room());
      Vec<T>*image = scratch.take(pixels + 1), *room = scratch.take(grid.room());
      for (int64_t part = begin; part < end; ++part) {
        const int64_t row = part / blocks, c = part % blocks * lanes;
        each(grid, image, room, of.first + (row * of.all + c) * pixels, row, c, std::min(lanes, of.channels - c));
      }
      settle();
    });
  });
}

// The spectra of an image.
template <Kind kind, typename T>
void analyse(const Plan& plan, const Channels<const T>& image, const Spectra<T>& spectra) {
  const std::vector<int32_t> places = plan.places(kind);
  const Slots<kind, T> slots(plan);
  const int64_t tiles = plan.tiles(kind), phases = plan.phases(kind), pixels = plan.pixels(kind);
  const int64_t extent = plan.w.extent(kind), numbers = plan.h.extent(kind) * extent;
  const int64_t line = spectra.line, slot = Spectra<T>::stride(spectra.rows, line);
  const Channels<T> of{const_cast<T*>(image.first), image.rows, image.channels, image.all};
  for_each_part<kind, T>(plan, of, [&](const auto& grid, Vec<T>* here, Vec<T>* room, const T* from, int64_t row,
                                       int64_t c, int64_t count) {
    into_lanes(from, pixels, count, here);
    here[pixels] = Vec<T>{};
    const int32_t* at = places.data();
    for (int64_t tile = 0; tile < tiles; ++tile) {
      for (int64_t phase = 0; phase < phases; ++phase, at += numbers) {
        T* to = spectra.first + (row * tiles + tile) * line + phase * image.channels + c;
        const auto give = [&](Vec<T> v) {
          stream(to, v, count);
          to += slot;
        };
        grid.analyse(
            room, [&](int64_t i, int64_t j) { return here[at[i * extent + j]]; },
            [&](bool alone, Vec<T> re, Vec<T> im) {
              if (alone) return give(re * slots.single);
              Vec<T> s[3];
              slots.split(re, im, s);
              for (const Vec<T>& v : s) give(v);
            });
      }
    }
  });
}

// The transpose of `analyse`; what stood in the image is overwritten.
template <Kind kind, typename T>
void synthesise(const Plan& plan, const Spectra<T>& spectra, const Channels<T>& image) {
  const std::vector<int32_t> places = plan.places(kind);
  const Slots<kind, T> slots(plan);
  const int64_t tiles = plan.tiles(kind), phases = plan.phases(kind), pixels = plan.pixels(kind);
  const int64_t extent = plan.w.extent(kind), numbers = plan.h.extent(kind) * extent;
  const int64_t line = spectra.line, slot = Spectra<T>::stride(spectra.rows, line);
  for_each_part<kind, T>(plan, image, [&](const auto& grid, Vec<T>* here, Vec<T>* room, T* to, int64_t row,
                                          int64_t c, int64_t count) {
    std::fill(here, here + pixels + 1, Vec<T>{});
    const int32_t* at = places.data();
    for (int64_t tile = 0; tile < tiles; ++tile) {
      for (int64_t phase = 0; phase < phases; ++phase, at += numbers) {
        const T* from = spectra.first + (row * tiles + tile) * line + phase * image.channels + c;
        const int64_t ahead = phase + 1 < phases ? image.channels : line - phase * image.channels;
        const auto take = [&] {
          __builtin_prefetch(from + ahead);  // too scattered for the processor to guess
          const Vec<T> v = load(from, count);
          from += slot;
          return v;
        };
        grid.synthesise(
            room,
            [&](bool alone, Vec<T>& re, Vec<T>& im) {
              if (alone) {
                re = take() * slots.single, im = Vec<T>{};
                return;
              }
              Vec<T> s[3];
              for (Vec<T>& v : s) v = take();
              slots.join(s, re, im);
            },
            [&](int64_t i, int64_t j, Vec<T> v) { here[at[i * extent + j]] += v; });
      }
    }
    out_of_lanes(here, pixels, count, to);
  });
}

}  // namespace torchcaps
