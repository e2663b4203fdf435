// Winograd's way a few rows of tiles at a time: what is transformed, multiplied and transformed back stays in the cache.
#pragma once

#include "buffers.h"
#include "panels.h"
#include "spectra.h"

namespace torchcaps {

// The tiles of a block, for which the spectra before and after the product should fit the second cache, and how many at
// least, for which a fetch of the kernel's is worth while.
constexpr int64_t kBlock = int64_t(3) << 18, kLeastTiles = 20;

// The spectra of a kernel (o rows of lines, channels and phases) as panels, for signal to result or for the way back.
template <typename T>
void pack(const Plan& plan, const Spectra<T>& kernel, bool back, T* to) {
  const int64_t o = kernel.rows, line = kernel.line;
  const int64_t size = back ? Panels<T>::numbers(o, line) : Panels<T>::numbers(line, o);
  at::parallel_for(0, plan.slots(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      if (back) {
        Panels<T>::pack(kernel.slot(k), o, line, line, to + k * size);
      } else {
        Panels<T>::pack_turned(kernel.slot(k), line, o, line, to + k * size);
      }
    }
  });
}

// Rows of tiles, counted through all images, and the part of them that is one image's.
struct Part {
  int64_t image, first, last, before;  // rows of tiles of the image, and how many tiles of the block come before them
};

template <typename Each>
void over_images(const Plan& plan, int64_t begin, int64_t end, Each each) {
  const int64_t rows = plan.h.tiles(), wide = plan.w.tiles();
  for (int64_t row = begin; row < end;) {
    const int64_t image = row / rows, last = std::min(end, (image + 1) * rows);
    each(Part{image, row - image * rows, last - image * rows, (row - begin) * wide});
    row = last;
  }
}

// From the numbers of one side of a convolution to those of the other, by packed spectra of its kernel. A block is some
// rows of tiles, or, where tiles overlap in what they give, whole images.
template <Kind before, Kind after, typename T>
void convolve(const Plan& plan, const Channels<const T>& from, const T* packed, const T* bias, const Channels<T>& to,
              const at::Tensor& like) {
  constexpr int64_t lanes = Lanes<T>::n;
  const Tiles<before, T> cut(plan);
  const Tiles<after, T> sewn(plan);
  const WinogradOf<before, T> analysis;
  const WinogradOf<after, T> synthesis;
  const int64_t wide = plan.w.tiles(), all = from.rows * plan.h.tiles();
  const int64_t k = cut.phases * from.channels, n = sewn.phases * to.channels, line = Panels<T>::padded(n);
  const int64_t fit = kBlock / (plan.slots() * (k + line) * int64_t(sizeof(T)));
  const int64_t unit = after == Kind::signal ? plan.h.tiles() : 1;
  const int64_t rows = (std::max(fit, kLeastTiles) + wide * unit - 1) / (wide * unit) * unit;
  at::parallel_for(0, (all + rows - 1) / rows, 1, [&](int64_t begin, int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView plain;  // the threads of a pool know nothing of autograd
    const Borrowed one(plan.slots() * Spectra<T>::stride(rows * wide, k), like);
    const Borrowed two(plan.slots() * Spectra<T>::stride(rows * wide, line), like);
    const Spectra<T> in{one.tensor.template mutable_data_ptr<T>(), rows * wide, k};
    const Spectra<T> out{two.tensor.template mutable_data_ptr<T>(), rows * wide, line};
    Scratch<T> scratch(std::max(cut.pixels, sewn.pixels) + 1);
    Vec<T>* here = scratch.take(0);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * rows, last = std::min(first + rows, all);
      over_images(plan, first, last, [&](const Part& part) {
        const auto [high, low] = plan.h.reach(before, part.first, part.last);
        const int64_t width = plan.w.length(before);
        for (int64_t c = 0; c < from.channels; c += lanes) {
          const int64_t count = std::min(lanes, from.channels - c);
          const T* image = from.first + (part.image * from.all + c) * cut.pixels;
          into_lanes(image, cut.pixels, count, here, high * width, low * width);
          here[cut.pixels] = Vec<T>{};
          cut.analyse(analysis, here, nullptr, part.first * wide, part.last * wide, from.channels, in,
                      in.first + part.before * k + c, [&](T* at, Vec<T> v) { store(at, v, count); });
        }
      });
      for (int64_t slot = 0; slot < plan.slots(); ++slot) {
        const T* panels = packed + slot * Panels<T>::numbers(k, n);
        multiply(in.slot(slot), (last - first) * wide, k, panels, k, n, out.slot(slot), line);
      }
      over_images(plan, first, last, [&](const Part& part) {
        const auto [high, low] = plan.h.reach(after, part.first, part.last);
        const int64_t width = plan.w.length(after);
        for (int64_t c = 0; c < to.channels; c += lanes) {
          const int64_t count = std::min(lanes, to.channels - c);
          std::fill(here + high * width, here + low * width, bias ? load(bias + c, count) : Vec<T>{});
          sewn.synthesise(synthesis, here, nullptr, part.first * wide, part.last * wide, to.channels, out,
                          out.first + part.before * line + c, count);
          T* image = to.first + (part.image * to.all + c) * sewn.pixels;
          out_of_lanes(here, sewn.pixels, count, image, high * width, low * width);
        }
      });
    }
  });
}

}  // namespace torchcaps
