// `attend` over votes that are there, of few instances: one call with gradients of its own, for calls cost more here than
// their work. A vector holds the same number of neighbouring children; the votes lie as their product leaves them.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "buffers.h"
#include "lanes.h"

namespace torchcaps {
namespace {

using at::Tensor;
using OptTensor = std::optional<Tensor>;
using Tensors = torch::autograd::variable_list;

constexpr int64_t kAlone = 1 << 15;  // numbers of votes that are not worth another thread

// Votes (i m a j y), couplings (blocks m j lanes), everything else by instance; queries and sums with rows outermost.
struct Few {
  int64_t i, m, a, j, y;
  int64_t poses() const { return a * j * y; }
};

// Where a tensor of each instance and child begins, and how far its numbers are apart; those shared are not apart.
template <typename T>
struct Strided {
  Strided(const Tensor& t)
      : first(t.defined() ? t.const_data_ptr<T>() : nullptr),
        m(first ? t.stride(0) : 0), i(first ? t.stride(1) : 0), j(first && t.dim() > 2 ? t.stride(2) : 0) {}
  explicit operator bool() const { return first; }
  const T* first;
  int64_t m, i, j;
};

template <typename T>
const T* given(const Tensor& t) {
  return t.defined() ? t.const_data_ptr<T>() : nullptr;
}

template <typename T>
T* room(const Tensor& t) {
  return t.defined() ? t.mutable_data_ptr<T>() : nullptr;
}

// `load` and `store` of lanes.h where fewer numbers are the rule: poses are short.
template <typename T>
inline Vec<T> take(const T* from, int64_t count) {
#ifdef __AVX512F__
  if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_loadu_ps((1u << count) - 1, from);
  if constexpr (sizeof(T) == 8) return (Vec<T>)_mm512_maskz_loadu_pd((1u << count) - 1, from);
#endif
  return load(from, count);
}

template <typename T>
inline void put(T* to, Vec<T> v, int64_t count) {
#ifdef __AVX512F__
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_ps(to, (1u << count) - 1, (__m512)v);
  if constexpr (sizeof(T) == 8) return _mm512_mask_storeu_pd(to, (1u << count) - 1, (__m512d)v);
#endif
  store(to, v, count);
}

// For each of `count` children, `apart` numbers from one another, the product of its y numbers with those of `with`.
template <typename T>
inline Vec<T> dots(const T* of, int64_t apart, int64_t count, const T* with, int64_t y) {
  constexpr int64_t n = Lanes<T>::n;
  if (y * count <= n) {  // too little to fill a vector
    Vec<T> found{};
    for (int64_t l = 0; l < count; ++l) {
      T sum = 0;
      for (int64_t k = 0; k < y; ++k) sum += of[l * apart + k] * with[k];
      found[l] = sum;
    }
    return found;
  }
  Vec<T> sums[n] = {};
  for (int64_t k = 0; k < y; k += n) {
    const int64_t width = std::min(n, y - k);
    const Vec<T> other = take(with + k, width);
    if (count == n) {
#pragma GCC unroll 16
      for (int64_t l = 0; l < n; ++l) sums[l] += take(of + l * apart + k, width) * other;
    } else {
      for (int64_t l = 0; l < count; ++l) sums[l] += take(of + l * apart + k, width) * other;
    }
  }
  return totals<T>(sums);
}

// One instance's votes of neighbouring children, as many as a vector has lanes, and what is known of their pairs.
template <typename T>
struct Block {
  static constexpr int64_t n = Lanes<T>::n;
  Block(const Few& s, int64_t i, int64_t m)
      : s(s), i(i), m(m), count(std::min(n, s.i - i)), apart(s.m * s.poses()), first(i * apart + m * s.poses()) {}

  // What was given for each of the children, or one.
  Vec<T> of(const Strided<T>& weight) const {
    Vec<T> found{};
    for (int64_t l = 0; l < count; ++l) found[l] = weight ? weight.first[m * weight.m + (i + l) * weight.i] : T(1);
    return found;
  }

  void of(const Strided<T>& prior, Vec<T>* found) const {
    for (int64_t j = 0; j < s.j; ++j) {
      for (int64_t l = 0; l < count; ++l) found[j][l] = prior.first[m * prior.m + (i + l) * prior.i + j * prior.j];
    }
  }

  // f(j, at, width) for the numbers of every parent's pose, in vectors.
  template <typename F>
  void over_poses(F f) const {
    for (int64_t a = 0, at = 0; a < s.a; ++a) {
      for (int64_t j = 0; j < s.j; ++j) {
        for (int64_t y = 0; y < s.y; y += n) f(j, at + y, std::min(n, s.y - y));
        at += s.y;
      }
    }
  }

  // Add the products of all parents' poses with the votes.
  void agree(const T* votes, const T* poses, Vec<T>* found) const {
    for (int64_t a = 0, at = 0; a < s.a; ++a) {
      for (int64_t j = 0; j < s.j; ++j, at += s.y) {
        found[j] += dots<T>(votes + first + at, apart, count, poses + m * s.poses() + at, s.y);
      }
    }
  }

  // Where the couplings of the block lie among those of all.
  template <typename P>
  P couplings(P all) const {
    return all + (i * s.m + m * n) * s.j;
  }

  const Few s;
  const int64_t i, m, count, apart, first;
};

template <typename T>
void forward(const Few& s, const T* votes, const T* query, Strided<T> prior, Strided<T> weight, int64_t begin,
             int64_t end, T* sum, T* mass, T* couplings) {
  Scratch<T> scratch(s.j + (end - begin) * s.j);
  Vec<T>*c = scratch.take(s.j), *masses = scratch.take((end - begin) * s.j);
  for (int64_t i = 0; i < s.i; i += Block<T>::n) {
    for (int64_t m = begin; m < end; ++m) {
      const Block<T> block(s, i, m);
      std::fill(c, c + s.j, query || prior ? Vec<T>{} : same(T(1) / s.j));  // a child without preference
      if (prior) block.of(prior, c);
      if (query) block.agree(votes, query, c);
      if (query || prior) softmax<T>(c, s.j);
      if (couplings) std::memcpy(block.couplings(couplings), c, s.j * kBytes);
      const Vec<T> share = block.of(weight);
      for (int64_t j = 0; j < s.j; ++j) masses[(m - begin) * s.j + j] += c[j] *= share;
      block.over_poses([&](int64_t j, int64_t at, int64_t width) {
        T* to = sum + m * s.poses() + at;
        const T* from = votes + block.first + at;
        Vec<T> added = take(to, width);
        for (int64_t l = 0; l < block.count; ++l) added += c[j][l] * take(from + l * block.apart, width);
        put(to, added, width);
      });
    }
  }
  for (int64_t k = 0; k < (end - begin) * s.j; ++k) mass[begin * s.j + k] = total<T>(masses[k]);
}

template <typename T>
struct Pulled {
  T *votes, *query, *logits, *weight;
};

template <typename T>
void backward(const Few& s, const T* votes, const T* query, Strided<T> weight, const T* couplings, const T* g_sum,
              const T* g_mass, bool detach, int64_t begin, int64_t end, const Pulled<T>& out) {
  const bool moved = !detach && (query || out.logits);
  Scratch<T> scratch(3 * s.j);
  Vec<T>*c = scratch.take(s.j), *r = scratch.take(s.j), *d = scratch.take(s.j);
  for (int64_t i = 0; i < s.i; i += Block<T>::n) {
    for (int64_t m = begin; m < end; ++m) {
      const Block<T> block(s, i, m);
      const Vec<T> share = block.of(weight);
      std::memcpy(c, block.couplings(couplings), s.j * kBytes);
      for (int64_t j = 0; j < s.j; ++j) {
        d[j] = same(g_mass ? g_mass[m * s.j + j] : T(0));
        r[j] = c[j] * share;
      }
      Vec<T> d_weight{};
      if (moved || out.weight) block.agree(votes, g_sum, d);
      for (int64_t j = 0; j < s.j; ++j) d_weight += c[j] * d[j];
      for (int64_t j = 0; j < s.j; ++j) d[j] = moved ? r[j] * (d[j] - d_weight) : Vec<T>{};
      for (int64_t l = 0; l < block.count; ++l) {
        if (out.weight) out.weight[m * s.i + i + l] = d_weight[l];
        for (int64_t j = 0; out.logits && j < s.j; ++j) out.logits[(m * s.i + i + l) * s.j + j] = d[j][l];
      }
      block.over_poses([&](int64_t j, int64_t at, int64_t width) {
        const T* from = votes + block.first + at;
        T* to = out.votes + block.first + at;
        const Vec<T> g = take(g_sum + m * s.poses() + at, width);
        if (!moved || !query) {
          for (int64_t l = 0; l < block.count; ++l) put(to + l * block.apart, r[j][l] * g, width);
          return;
        }
        const Vec<T> q = take(query + m * s.poses() + at, width);
        T* sum = out.query + m * s.poses() + at;
        Vec<T> added = take(sum, width);
        for (int64_t l = 0; l < block.count; ++l) {
          put(to + l * block.apart, r[j][l] * g + d[j][l] * q, width);
          added += d[j][l] * take(from + l * block.apart, width);
        }
        put(sum, added, width);
      });
    }
  }
}

Few sizes_of(const Tensor& v) {
  TORCH_CHECK(v.dim() == 5, "votes are ", v.sizes(), " but must be (i m a j y)");
  return {v.size(0), v.size(1), v.size(2), v.size(3), v.size(4)};
}

template <typename F>
void over_instances(const Few& s, F f) {
  at::parallel_for(0, s.m, std::max<int64_t>(1, kAlone / std::max<int64_t>(1, s.i * s.poses())), f);
}

// A pose a parent, d = (a y), with the rows outermost, and back.
Tensor rows_first(const Tensor& poses, const Few& s) {
  if (!poses.defined() || s.a == 1) return poses.defined() ? poses.contiguous() : poses;
  return poses.reshape({s.m, s.j, s.a, s.y}).transpose(1, 2).contiguous();
}

Tensor parents_first(const Tensor& rows, const Few& s, at::IntArrayRef shape) {
  return s.a == 1 ? rows.view(shape) : rows.view({s.m, s.a, s.j, s.y}).transpose(1, 2).reshape(shape);
}

Tensor each(const OptTensor& t, at::IntArrayRef lead, at::IntArrayRef own) {
  if (!t) return {};
  std::vector<int64_t> whole(lead.vec()), flat{lead[0] * lead[1] * lead[2]};
  whole.insert(whole.end(), own.begin(), own.end());
  flat.insert(flat.end(), own.begin(), own.end());
  return t->expand(whole).reshape(flat);
}

std::vector<int64_t> joined(at::IntArrayRef lead, std::initializer_list<int64_t> own) {
  std::vector<int64_t> shape(lead.vec());
  shape.insert(shape.end(), own);
  return shape;
}

// Sum, mass and, where `kept`, couplings.
std::tuple<Tensor, Tensor, Tensor> attend(const Tensor& v, const OptTensor& query, const OptTensor& prior,
                                          const OptTensor& weight, at::IntArrayRef lead, bool kept) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Few s = sizes_of(v);
  const auto shape = joined(lead, {s.j, s.a * s.y});
  TORCH_CHECK(v.is_contiguous() && lead.size() == 3 && lead[0] * lead[1] * lead[2] == s.m,
              "votes are ", v.sizes(), " but must be (i m a j y), of ", lead, " instances");
  TORCH_CHECK(!query || query->sizes() == at::IntArrayRef(shape), "query is ", query->sizes(), " but must be ", shape);
  const Tensor q = rows_first(query.value_or(Tensor()), s), p = each(prior, lead, {s.i, s.j}), w = each(weight, lead, {s.i});
  Tensor sum = at::zeros({s.m, s.poses()}, v.options()), mass = at::empty(joined(lead, {s.j}), v.options()), c;
  AT_DISPATCH_FLOATING_TYPES(v.scalar_type(), "attend_stored", [&] {
    constexpr int64_t n = Lanes<scalar_t>::n;
    if (kept) c = at::empty({(s.i + n - 1) / n, s.m, s.j, n}, v.options());
    over_instances(s, [&](int64_t begin, int64_t end) {
      forward<scalar_t>(s, given<scalar_t>(v), given<scalar_t>(q), p, w, begin, end, room<scalar_t>(sum),
                        room<scalar_t>(mass), room<scalar_t>(c));
    });
  });
  return {parents_first(sum, s, shape), mass, c};
}

// The same in torch's own operators, for gradients that are to be differentiated again.
Tensors plain(const Tensors& in, at::IntArrayRef lead, bool detach) {
  const auto& [v, query, prior, weight] = std::tie(in[0], in[1], in[2], in[3]);
  const Few s = sizes_of(v);
  const auto parents = joined(lead, {s.j, s.a * s.y});
  const Tensor votes = v.permute({1, 0, 3, 2, 4}).reshape(joined(lead, {s.i, s.j, s.a * s.y}));
  Tensor logits = query.defined() ? (votes * query.unsqueeze(3)).sum(-1) : at::zeros(joined(lead, {s.i, s.j}), v.options());
  Tensor c = at::softmax(prior.defined() ? logits + prior : logits, -1);
  if (detach) c = c.detach();
  if (weight.defined()) c = c * weight.unsqueeze(-1);
  return {(c.unsqueeze(-1) * votes).sum(3), c.sum(3)};
}

class AttendStored : public torch::autograd::Function<AttendStored> {
 public:
  static Tensors forward(torch::autograd::AutogradContext* ctx, const Tensor& v, const OptTensor& query,
                         const OptTensor& prior, const OptTensor& weight, at::IntArrayRef lead, bool detach) {
    auto [sum, mass, c] = attend(v, query, prior, weight, lead, true);
    const Tensor none;
    ctx->save_for_backward({v, query.value_or(none), prior.value_or(none), weight.value_or(none), c});
    ctx->saved_data["lead"] = lead.vec();
    ctx->saved_data["detach"] = detach;
    ctx->set_materialize_grads(false);
    return {sum, mass};
  }

  static Tensors backward(torch::autograd::AutogradContext* ctx, const Tensors& grads) {
    const Tensors in = ctx->get_saved_variables();
    const auto lead = ctx->saved_data["lead"].toIntVector();
    const bool detach = ctx->saved_data["detach"].toBool();
    Tensors found = at::GradMode::is_enabled() ? again(in, grads, lead, detach) : once(in, grads, lead, detach);
    found.resize(6);
    return found;
  }

 private:
  static Tensors once(const Tensors& in, const Tensors& grads, at::IntArrayRef lead, bool detach) {
    const auto& [v, query, prior, weight, c] = std::tie(in[0], in[1], in[2], in[3], in[4]);
    const Few s = sizes_of(v);
    const Tensor q = rows_first(query, s), w = weight.defined() ? each(weight, lead, {s.i}) : Tensor();
    const Tensor g = grads[0].defined() ? rows_first(grads[0], s) : at::zeros({s.m, s.poses()}, v.options());
    const Tensor g_mass = grads[1].defined() ? grads[1].contiguous() : Tensor();
    Tensor dv = result_like(v), dq, d_logits, dw;
    if (query.defined()) dq = at::zeros({s.m, s.poses()}, v.options());
    if (prior.defined() && !detach) d_logits = at::empty(joined(lead, {s.i, s.j}), v.options());
    if (weight.defined()) dw = at::empty_like(weight, at::MemoryFormat::Contiguous);
    AT_DISPATCH_FLOATING_TYPES(v.scalar_type(), "attend_stored_backward", [&] {
      const Pulled<scalar_t> out{room<scalar_t>(dv), room<scalar_t>(dq), room<scalar_t>(d_logits), room<scalar_t>(dw)};
      over_instances(s, [&](int64_t begin, int64_t end) {
        torchcaps::backward<scalar_t>(s, given<scalar_t>(v), given<scalar_t>(q), w, given<scalar_t>(c),
                                      given<scalar_t>(g), given<scalar_t>(g_mass), detach, begin, end, out);
      });
    });
    if (dq.defined()) dq = parents_first(dq, s, query.sizes());
    if (d_logits.defined()) d_logits = d_logits.sum_to_size(prior.sizes());
    return {dv, dq, d_logits, dw};
  }

  // A query may itself depend on the votes: each input stands for itself alone, and autograd joins them outside.
  static Tensors again(const Tensors& in, const Tensors& grads, at::IntArrayRef lead, bool detach) {
    Tensors alone, leaves, outs, given;
    for (size_t k = 0; k < 4; ++k) {
      alone.push_back(in[k].defined() ? in[k].view_as(in[k]) : Tensor());
      if (in[k].defined() && in[k].requires_grad()) leaves.push_back(alone.back());
    }
    const Tensors all = plain(alone, lead, detach);
    for (size_t k = 0; k < all.size(); ++k) {
      if (!grads[k].defined() || !all[k].requires_grad()) continue;
      outs.push_back(all[k]);
      given.push_back(grads[k]);
    }
    const Tensors found = torch::autograd::grad(outs, leaves, given, true, true, true);
    Tensors result;
    for (size_t k = 0, next = 0; k < 4; ++k) {
      result.push_back(in[k].defined() && in[k].requires_grad() ? found[next++] : Tensor());
    }
    return result;
  }
};

std::tuple<Tensor, Tensor> attend_stored(const Tensor& v, const OptTensor& query, const OptTensor& prior,
                                         const OptTensor& weight, at::IntArrayRef lead, bool) {
  auto [sum, mass, c] = attend(v, query, prior, weight, lead, false);
  return {sum, mass};
}

std::tuple<Tensor, Tensor> attend_stored_recorded(const Tensor& v, const OptTensor& query, const OptTensor& prior,
                                                  const OptTensor& weight, at::IntArrayRef lead, bool detach) {
  if (!at::GradMode::is_enabled()) return attend_stored(v, query, prior, weight, lead, detach);
  const Tensors found = AttendStored::apply(v, query, prior, weight, lead, detach);
  return {found[0], found[1]};
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/stored.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("attend_stored", torchcaps::attend_stored); }
TORCH_LIBRARY_IMPL(torchcaps, AutogradCPU, m) { m.impl("attend_stored", torchcaps::attend_stored_recorded); }
