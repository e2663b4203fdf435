// A convolution with a large kernel in the frequency domain: fewer multiplications than the direct one, as products of
// matrices, one for each slot of the spectra. `torchcaps/ops/spectral` says when it is worth while.
#include <torch/library.h>

#include <memory>
#include <optional>

#include "blocks.h"
#include "buffers.h"
#include "spectra.h"

namespace torchcaps {
namespace {

using at::Tensor;
using OptTensor = std::optional<Tensor>;

// Output channels are taken in blocks, so that no buffer for the spectra of kernels is larger than this.
constexpr int64_t kBlockBytes = int64_t(160) << 20;
// Of a stride, a padding or a transform: what is larger is no convolution, and products of sizes would wrap round.
constexpr int64_t kLargest = int64_t(1) << 12;

struct Sizes {
  Plan plan;
  int64_t b, c, o, block;

  Sizes(const Tensor& x, const Tensor& w, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef n)
      : b(x.size(0)), c(x.size(1)), o(w.size(0)) {
    TORCH_CHECK_VALUE(x.dim() == 4 && w.dim() == 4 && w.size(1) == c && x.scalar_type() == w.scalar_type() &&
                          x.is_contiguous() && w.is_contiguous(),
                      "signal is ", x.sizes(), " of ", x.scalar_type(), ", kernel ", w.sizes(), " of ", w.scalar_type(),
                      " but must be contiguous (b c h w) and (o c k l) of one type");
    TORCH_CHECK_VALUE(c > 0, "signal is ", x.sizes(), " but must have a channel");
    TORCH_CHECK_VALUE(stride.size() == 2 && padding.size() == 2 && n.size() == 2, "stride ", stride, ", padding ", padding,
                      " and transform ", n, " must be two numbers each");
    Cut* cuts[2] = {&plan.h, &plan.w};
    for (int64_t axis = 0; axis < 2; ++axis) {
      *cuts[axis] = {x.size(2 + axis), w.size(2 + axis), stride[axis], padding[axis], n[axis]};
      const Cut& cut = *cuts[axis];
      TORCH_CHECK_VALUE(cut.stride > 0 && cut.padding >= 0 && cut.n > 0 && cut.kernel > 0 &&
                            std::max({cut.stride, cut.padding, cut.n}) <= kLargest && cut.out() > 0 && cut.step() > 0,
                        "an axis of ", cut.in, " cannot be cut: kernel ", cut.kernel, ", stride ", cut.stride,
                        ", padding ", cut.padding, ", transform of ", cut.n, "; none may be above ", kLargest);
    }
    const int64_t each = plan.slots() * depth() * x.element_size();
    block = std::clamp<int64_t>(kBlockBytes / each / 16 * 16, 1, std::max<int64_t>(1, o));
    if (block < o) block = std::max<int64_t>(block, std::min<int64_t>(o, 16));
  }

  int64_t rows() const { return b * plan.tiles(Kind::signal); }
  int64_t depth() const { return plan.phases(Kind::signal) * c; }  // of the products: phases and channels

  // What is kept of the kernel's spectra: as they are, or packed for Winograd's way.
  template <typename T>
  std::vector<int64_t> kept() const {
    return {plan.slots(), plan.winograd() ? Panels<T>::numbers(depth(), o) : Spectra<T>::stride(o, depth())};
  }
};

// Spectra in a buffer that is given back at the end of the call.
template <typename T>
struct Held : Spectra<T> {
  Held(const Sizes& s, int64_t rows, int64_t line, const Tensor& like)
      : Held(rows, line, std::make_unique<Borrowed>(s.plan.slots() * Spectra<T>::stride(rows, line), like)) {}

 private:
  Held(int64_t rows, int64_t line, std::unique_ptr<Borrowed> room)
      : Spectra<T>{room->tensor.template mutable_data_ptr<T>(), rows, line}, room_(std::move(room)) {}
  std::unique_ptr<Borrowed> room_;
};

template <typename T>
Tensor matrix(const Spectra<T>& of, int64_t slot) {
  return at::from_blob(of.slot(slot), {of.rows, of.line}, c10::CppTypeToScalarType<T>::value);
}

// For every slot c = a b, or c += a b. A slot is one thread's, so results do not depend on the number of threads.
template <typename T, typename A, typename B>
void multiply(const Sizes& s, const Spectra<T>& c, A a, B b, bool add = false) {
  at::parallel_for(0, s.plan.slots(), 1, [&](int64_t begin, int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView plain;  // the threads of a pool know nothing of autograd
    for (int64_t k = begin; k < end; ++k) {
      Tensor to = matrix(c, k);
      if (add) {
        to.addmm_(a(k), b(k));
      } else {
        at::mm_out(to, a(k), b(k));
      }
    }
  });
}

template <typename T>
Channels<const T> whole(const Tensor& t) {
  return {t.const_data_ptr<T>(), t.size(0), t.size(1), t.size(1)};
}

// The spectra of as many output channels' kernels as there is room for, from the first.
template <typename T>
void analyse_kernel(const Sizes& s, const Tensor& w, int64_t first, const Spectra<T>& to) {
  const T* from = w.const_data_ptr<T>() + first * s.c * s.plan.pixels(Kind::kernel);
  analyse<Kind::kernel, T>(s.plan, {from, to.rows, s.c, s.c}, to);
}

// Those of Winograd's transform, packed for the way from signal to result, or back.
template <typename T>
void packed_kernel(const Sizes& s, const Tensor& w, bool back, T* to) {
  const Held<T> kernel(s, s.o, s.depth(), w);
  analyse_kernel<T>(s, w, 0, kernel);
  pack<T>(s.plan, kernel, back, to);
}

// Some channels of the convolution's output.
template <typename T>
Channels<T> channels(const Sizes& s, T* image, int64_t first, int64_t count) {
  return {image + first * s.plan.pixels(Kind::result), s.b, count, s.o};
}

Tensor spectral_kernel(const Tensor& x, const Tensor& w, at::IntArrayRef stride, at::IntArrayRef padding,
                       at::IntArrayRef n) {
  const Sizes s(x, w, stride, padding, n);
  return AT_DISPATCH_FLOATING_TYPES(w.scalar_type(), "spectral_kernel", [&] {
    Tensor kept = at::empty(s.kept<scalar_t>(), w.options());
    if (s.plan.winograd()) {
      packed_kernel<scalar_t>(s, w, false, kept.mutable_data_ptr<scalar_t>());
    } else {
      analyse_kernel<scalar_t>(s, w, 0, {kept.mutable_data_ptr<scalar_t>(), s.o, s.depth()});
    }
    return kept;
  });
}

template <typename T>
void forward_in_blocks(const Sizes& s, const Tensor& x, const Tensor& w, const OptTensor& bias, const OptTensor& kept,
                       Tensor& y) {
  const Borrowed fresh(kept ? 0 : s.plan.slots() * Panels<T>::numbers(s.depth(), s.o), x);
  if (!kept) packed_kernel<T>(s, w, false, fresh.tensor.mutable_data_ptr<T>());
  const T* packed = (kept ? *kept : fresh.tensor).const_data_ptr<T>();
  convolve<Kind::signal, Kind::result, T>(s.plan, whole<T>(x), packed, bias ? bias->const_data_ptr<T>() : nullptr,
                                          channels<T>(s, y.mutable_data_ptr<T>(), 0, s.o), x);
}

template <typename T>
void forward(const Sizes& s, const Tensor& x, const Tensor& w, const OptTensor& kept, Tensor& y) {
  const Held<T> signal(s, s.rows(), s.depth(), x);
  analyse<Kind::signal, T>(s.plan, whole<T>(x), signal);
  const int64_t block = kept ? s.o : s.block;
  for (int64_t first = 0; first < s.o; first += block) {
    const int64_t count = std::min(block, s.o - first);
    const Held<T> result(s, s.rows(), count, x);
    if (kept) {
      const Spectra<T> kernel{const_cast<T*>(kept->const_data_ptr<T>()), count, s.depth()};
      multiply<T>(s, result, [&](int64_t k) { return matrix<T>(signal, k); }, [&](int64_t k) { return matrix<T>(kernel, k).t(); });
    } else {
      const Held<T> kernel(s, count, s.depth(), x);
      analyse_kernel<T>(s, w, first, kernel);
      multiply<T>(s, result, [&](int64_t k) { return matrix<T>(signal, k); }, [&](int64_t k) { return matrix<T>(kernel, k).t(); });
    }
    synthesise<Kind::result, T>(s.plan, result, channels<T>(s, y.mutable_data_ptr<T>(), first, count));
  }
}

Tensor spectral(const Tensor& x, const Tensor& w, const OptTensor& bias, const OptTensor& kept, at::IntArrayRef stride,
                at::IntArrayRef padding, at::IntArrayRef n) {
  const Sizes s(x, w, stride, padding, n);
  TORCH_CHECK_VALUE(!bias || (bias->sizes() == at::IntArrayRef{s.o} && bias->scalar_type() == x.scalar_type()), "bias is ",
                    bias->sizes(), " of ", bias->scalar_type(), " but must be ", s.o, " of ", x.scalar_type());
  Tensor y = in_huge_pages(at::empty({s.b, s.o, s.plan.h.out(), s.plan.w.out()}, x.options()));
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "spectral", [&] {
    const std::vector<int64_t> expected = s.kept<scalar_t>();
    TORCH_CHECK_VALUE(!kept || (kept->sizes() == expected && kept->scalar_type() == x.scalar_type() && kept->is_contiguous()),
                      "the kernel's spectra are ", kept->sizes(), " but must be ", expected, " of ", x.scalar_type());
    if (s.plan.winograd()) {
      forward_in_blocks<scalar_t>(s, x, w, bias ? bias->contiguous() : bias, kept, y);
    } else {
      forward<scalar_t>(s, x, w, kept, y);
      if (bias) y.add_(bias->view({1, -1, 1, 1}));
    }
  });
  return y;
}

template <typename T>
void backward(const Sizes& s, const Tensor& g, const Tensor& x, const Tensor& w, T* dx, T* dw) {
  if (dx && s.plan.winograd()) {
    const Borrowed packed(s.plan.slots() * Panels<T>::numbers(s.o, s.depth()), x);
    packed_kernel<T>(s, w, true, packed.tensor.mutable_data_ptr<T>());
    convolve<Kind::result, Kind::signal, T>(s.plan, whole<T>(g), packed.tensor.const_data_ptr<T>(), nullptr,
                                            {dx, s.b, s.c, s.c}, x);
    dx = nullptr;
  }
  if (!dx && !dw) return;
  std::optional<Held<T>> signal, d_signal;
  if (dw) analyse<Kind::signal, T>(s.plan, whole<T>(x), signal.emplace(s, s.rows(), s.depth(), x));
  if (dx) d_signal.emplace(s, s.rows(), s.depth(), x);
  for (int64_t first = 0; first < s.o; first += s.block) {
    const int64_t count = std::min(s.block, s.o - first);
    const Held<T> d_result(s, s.rows(), count, x), kernel(s, count, s.depth(), x);
    analyse<Kind::result, T>(s.plan, channels<const T>(s, g.const_data_ptr<T>(), first, count), d_result);
    if (dx) {
      analyse_kernel<T>(s, w, first, kernel);
      multiply<T>(s, *d_signal, [&](int64_t k) { return matrix<T>(d_result, k); }, [&](int64_t k) { return matrix<T>(kernel, k); }, first > 0);
    }
    if (dw) {  // the kernel's own spectra are spent
      multiply<T>(s, kernel, [&](int64_t k) { return matrix<T>(d_result, k).t(); }, [&](int64_t k) { return matrix<T>(*signal, k); });
      synthesise<Kind::kernel, T>(s.plan, kernel, {dw + first * s.c * s.plan.pixels(Kind::kernel), count, s.c, s.c});
    }
  }
  if (dx) synthesise<Kind::signal, T>(s.plan, *d_signal, {dx, s.b, s.c, s.c});
}

std::tuple<Tensor, Tensor> spectral_backward(const Tensor& g, const Tensor& x, const Tensor& w, at::IntArrayRef stride,
                                             at::IntArrayRef padding, at::IntArrayRef n, bool of_x, bool of_w) {
  const Sizes s(x, w, stride, padding, n);
  const std::vector<int64_t> expected{s.b, s.o, s.plan.h.out(), s.plan.w.out()};
  TORCH_CHECK_VALUE(g.sizes() == expected && g.is_contiguous() && g.scalar_type() == x.scalar_type(), "gradient is ",
                    g.sizes(), " of ", g.scalar_type(), " but must be contiguous ", expected, " of ", x.scalar_type());
  Tensor dx = of_x ? in_huge_pages(at::empty_like(x)) : at::empty({0}, x.options());
  Tensor dw = of_w ? in_huge_pages(at::empty_like(w)) : at::empty({0}, w.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "spectral_backward", [&] {
    backward<scalar_t>(s, g, x, w, of_x ? dx.mutable_data_ptr<scalar_t>() : nullptr,
                       of_w ? dw.mutable_data_ptr<scalar_t>() : nullptr);
  });
  return {dx, dw};
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/spectral/operator.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) {
  m.impl("spectral_kernel", torchcaps::spectral_kernel);
  m.impl("spectral", torchcaps::spectral);
  m.impl("spectral_backward", torchcaps::spectral_backward);
}
