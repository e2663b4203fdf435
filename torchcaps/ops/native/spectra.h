// Images (rows, channels, h, w) to spectra [slot][row, tile][phase, channel], and back by the transpose.
//
// A strided correlation is the sum, over the phases of the stride, of plain ones on coarser grids. These are cut into
// tiles that overlap by what the kernel reaches over; in the spectrum of a tile each frequency is one complex product.
// It is made of three real ones (Gauss): slot by slot, spectra of signal and kernel are multiplied as real matrices.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "fourier.h"
#include "plan.h"
#include "winograd.h"

namespace torchcaps {

template <Kind kind, typename T>
using WinogradOf = std::conditional_t<
    kind == Kind::signal, Winograd<T, kPoints, points::signal>,
    std::conditional_t<kind == Kind::kernel, Winograd<T, kTaps, points::kernel>, Winograd<T, kStep, points::result>>>;

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
  int64_t stride() const { return stride(rows, line); }
  T* slot(int64_t k) const { return first + k * stride(); }
};

// Some channels of an image: `channels` of the `all` in each of its rows.
template <typename T>
struct Channels {
  T* first;
  int64_t rows, channels, all;
};

// `count` channels of `pixels` numbers each, from the first to the last of some, to one vector a pixel, and back.
template <typename T>
inline void into_lanes(const T* image, int64_t pixels, int64_t count, Vec<T>* to, int64_t first, int64_t last) {
  constexpr int64_t n = Lanes<T>::n;
  for (int64_t p = first; p < last; p += n) {
    const int64_t some = std::min(n, last - p);
    Vec<T> block[n];
    for (int64_t c = 0; c < n; ++c) block[c] = c < count ? load(image + c * pixels + p, some) : Vec<T>{};
    transpose<T>(block);
    for (int64_t k = 0; k < some; ++k) to[p + k] = block[k];
  }
}

template <typename T>
inline void out_of_lanes(const Vec<T>* from, int64_t pixels, int64_t count, T* image, int64_t first, int64_t last) {
  constexpr int64_t n = Lanes<T>::n;
  for (int64_t p = first; p < last; p += n) {
    const int64_t some = std::min(n, last - p);
    Vec<T> block[n];
    for (int64_t k = 0; k < n; ++k) block[k] = k < some ? from[p + k] : Vec<T>{};
    transpose<T>(block);
    for (int64_t c = 0; c < count; ++c) store(image + c * pixels + p, block[c], some);
  }
}

// The transform of a kind, given to `use`.
template <Kind kind, typename T, typename Use>
void with_grid(const Plan& plan, Use use) {
  if (plan.winograd()) {
    use(WinogradOf<kind, T>());
  } else {
    use(Grid<T>(plan.h.n, plan.w.n, plan.h.extent(kind), plan.w.extent(kind)));
  }
}

// Transforms of the tiles of one image, some channels of which stand `here` in vectors: one a pixel, and one that is
// zero after the last.
template <Kind kind, typename T>
struct Tiles {
  const Slots<kind, T> slots;
  const std::vector<int32_t> places;
  const int64_t phases, pixels, extent, numbers;

  explicit Tiles(const Plan& plan)
      : slots(plan),
        places(plan.places(kind)),
        phases(plan.phases(kind)),
        pixels(plan.pixels(kind)),
        extent(plan.w.extent(kind)),
        numbers(plan.h.extent(kind) * extent) {}

  // Of the tiles from `first` to `last` to lines of the spectra from `to` on; `channels` are those of a phase.
  template <typename Transform, typename Put>
  void analyse(const Transform& grid, const Vec<T>* here, Vec<T>* room, int64_t first, int64_t last, int64_t channels,
               const Spectra<T>& spectra, T* to, Put put) const {
    const int64_t slot = spectra.stride();
    const int32_t* at = places.data() + first * phases * numbers;
    for (int64_t tile = first; tile < last; ++tile, to += spectra.line) {
      for (int64_t phase = 0; phase < phases; ++phase, at += numbers) {
        T* next = to + phase * channels;
        const auto give = [&](Vec<T> v) {
          put(next, v);
          next += slot;
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
  }

  // The transpose: what the lines hold is added to what is `here`.
  template <typename Transform>
  void synthesise(const Transform& grid, Vec<T>* here, Vec<T>* room, int64_t first, int64_t last, int64_t channels,
                  const Spectra<T>& spectra, const T* from, int64_t count) const {
    const int64_t slot = spectra.stride();
    const int32_t* at = places.data() + first * phases * numbers;
    for (int64_t tile = first; tile < last; ++tile, from += spectra.line) {
      for (int64_t phase = 0; phase < phases; ++phase, at += numbers) {
        const T* next = from + phase * channels;
        const int64_t ahead = phase + 1 < phases ? channels : spectra.line - phase * channels;
        const auto take = [&] {
          __builtin_prefetch(next + ahead);  // too scattered for the processor to guess
          const Vec<T> v = load(next, count);
          next += slot;
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
  }
};

// A part of the work: `count` channels from c of one row of the image, in vectors, and where their spectra stand.
template <Kind kind, typename T, typename Each>
void for_each_part(const Plan& plan, const Channels<T>& of, const Spectra<T>& spectra, Each each) {
  constexpr int64_t lanes = Lanes<T>::n;
  const int64_t blocks = (of.channels + lanes - 1) / lanes, pixels = plan.pixels(kind), tiles = plan.tiles(kind);
  with_grid<kind, T>(plan, [&](const auto& grid) {
    at::parallel_for(0, of.rows * blocks, 1, [&](int64_t begin, int64_t end) {
      Scratch<T> scratch(pixels + 1 + grid.room());
      Vec<T>*image = scratch.take(pixels + 1), *room = scratch.take(grid.room());
      for (int64_t part = begin; part < end; ++part) {
        const int64_t row = part / blocks, c = part % blocks * lanes;
        each(grid, image, room, of.first + (row * of.all + c) * pixels, spectra.first + row * tiles * spectra.line + c,
             std::min(lanes, of.channels - c));
      }
      settle();
    });
  });
}

// The spectra of an image.
template <Kind kind, typename T>
void analyse(const Plan& plan, const Channels<const T>& image, const Spectra<T>& spectra) {
  const Tiles<kind, T> tiles(plan);
  const Channels<T> of{const_cast<T*>(image.first), image.rows, image.channels, image.all};
  for_each_part<kind, T>(plan, of, spectra, [&](const auto& grid, Vec<T>* here, Vec<T>* room, const T* from, T* to,
                                                int64_t count) {
    into_lanes(from, tiles.pixels, count, here, 0, tiles.pixels);
    here[tiles.pixels] = Vec<T>{};
    tiles.analyse(grid, here, room, 0, plan.tiles(kind), image.channels, spectra, to,
                  [&](T* at, Vec<T> v) { stream(at, v, count); });
  });
}

// The transpose of `analyse`; what stood in the image is overwritten.
template <Kind kind, typename T>
void synthesise(const Plan& plan, const Spectra<T>& spectra, const Channels<T>& image) {
  const Tiles<kind, T> tiles(plan);
  for_each_part<kind, T>(plan, image, spectra, [&](const auto& grid, Vec<T>* here, Vec<T>* room, T* to, const T* from,
                                                   int64_t count) {
    std::fill(here, here + tiles.pixels + 1, Vec<T>{});
    tiles.synthesise(grid, here, room, 0, plan.tiles(kind), image.channels, spectra, from, count);
    out_of_lanes(here, tiles.pixels, count, to, 0, tiles.pixels);
  });
}

}  // namespace torchcaps
