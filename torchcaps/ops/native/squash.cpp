// Squashes in one pass over the poses, forward and back: v = f(‖s‖) s.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>

namespace torchcaps {
namespace {

using at::Tensor;
using Tensors = torch::autograd::variable_list;

constexpr double kFloor = 1e-12;  // of the length that the exponential squash divides by
constexpr int64_t kGrain = 1 << 14;  // numbers that are worth a thread

// f(n) and f'(n) / n. The gradient of a length is zero where the length is.
template <typename T>
struct Scale {
  T f, slope;
};

template <typename T>
inline Scale<T> scale_of(T n, bool exponential) {
  if (!exponential) {
    const T more = 1 + n * n;
    return {n / more, n > 0 ? (1 - n * n) / (more * more * n) : T(0)};
  }
  if (n < T(kFloor)) return {1, 0};
  const T away = std::expm1(-n);
  // Both parts of f' are near 1/n for a short pose and their difference is lost: its series is not.
  const T slope = n < T(0.01) ? T(-0.5) + n * (T(1) / 3 - n * (T(1) / 8 - n * (T(1) / 30 - n / 144)))
                              : (n * (1 + away) + away) / (n * n);
  return {-away / n, slope / n};
}

template <typename T>
inline T dot(const T* a, const T* b, int64_t d) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t k = 0; k < d; ++k) sum += a[k] * b[k];
  return sum;
}

template <typename Rows>
void over_rows(const Tensor& s, Rows rows) {
  const int64_t d = s.size(-1), count = d == 0 ? 0 : s.numel() / d;
  at::parallel_for(0, count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, d)), rows);
}

Tensor forward(const Tensor& given, bool exponential) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Tensor s = given.contiguous();
  Tensor v = at::empty(s.sizes(), s.options());
  AT_DISPATCH_FLOATING_TYPES(s.scalar_type(), "squash", [&] {
    const int64_t d = s.size(-1);
    const scalar_t* from = s.const_data_ptr<scalar_t>();
    scalar_t* to = v.mutable_data_ptr<scalar_t>();
    over_rows(s, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin * d; r < end * d; r += d) {
        const scalar_t f = scale_of(std::sqrt(dot(from + r, from + r, d)), exponential).f;
        for (int64_t k = r; k < r + d; ++k) to[k] = f * from[k];
      }
    });
  });
  return v;
}

// ds = f g + f' / n ⟨g, s⟩ s
Tensor pulled(const Tensor& g, const Tensor& s, bool exponential) {
  Tensor ds = at::empty(s.sizes(), s.options());
  AT_DISPATCH_FLOATING_TYPES(s.scalar_type(), "squash_backward", [&] {
    const int64_t d = s.size(-1);
    const scalar_t* pose = s.const_data_ptr<scalar_t>();
    const scalar_t* from = g.const_data_ptr<scalar_t>();
    scalar_t* to = ds.mutable_data_ptr<scalar_t>();
    over_rows(s, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin * d; r < end * d; r += d) {
        const auto [f, slope] = scale_of(std::sqrt(dot(pose + r, pose + r, d)), exponential);
        const scalar_t along = slope * dot(from + r, pose + r, d);
        for (int64_t k = r; k < r + d; ++k) to[k] = f * from[k] + along * pose[k];
      }
    });
  });
  return ds;
}

// The same in torch's own operators, for gradients that are to be differentiated again.
Tensor plain(const Tensor& s, bool exponential) {
  Tensor n = at::linalg_vector_norm(s, 2, at::IntArrayRef{-1}, true);
  if (!exponential) return s * (n / (1 + n * n));
  n = n.clamp_min(kFloor);
  return s * (-at::expm1(-n) / n);
}

class Squash : public torch::autograd::Function<Squash> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& s, bool exponential) {
    ctx->save_for_backward({s});
    ctx->saved_data["exponential"] = exponential;
    return torchcaps::forward(s, exponential);
  }

  static Tensors backward(torch::autograd::AutogradContext* ctx, const Tensors& grads) {
    const Tensor s = ctx->get_saved_variables()[0];
    const bool exponential = ctx->saved_data["exponential"].toBool();
    if (!at::GradMode::is_enabled()) return {pulled(grads[0].contiguous(), s.contiguous(), exponential), Tensor()};
    const Tensor alone = s.view_as(s);
    return {torch::autograd::grad({plain(alone, exponential)}, {alone}, {grads[0]}, true, true)[0], Tensor()};
  }
};

Tensor recorded(const Tensor& s, bool exponential) {
  return at::GradMode::is_enabled() && s.requires_grad() ? Squash::apply(s, exponential) : forward(s, exponential);
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/squash.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("squash", torchcaps::forward); }
TORCH_LIBRARY_IMPL(torchcaps, AutogradCPU, m) { m.impl("squash", torchcaps::recorded); }
