// Instances side by side in vector registers: the arithmetic that every native pass is written in.
//
// The last axis of every tensor is the instances m = (h w b), so a vector holds the same number of neighbouring
// instances, and each line below does for all of them what the formula says for one. GCC and Clang turn these vectors
// into whatever the processor has.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace torchcaps {

#ifdef __AVX512F__
constexpr int64_t kBytes = 64;
#else
constexpr int64_t kBytes = 32;  // wider vectors than the processor's are taken apart, badly
#endif

template <typename T>
struct Lanes;

template <>
struct Lanes<float> {
  static constexpr int64_t n = kBytes / sizeof(float);
  typedef float vec __attribute__((vector_size(kBytes)));
  typedef int32_t ints __attribute__((vector_size(kBytes)));
};

template <>
struct Lanes<double> {
  static constexpr int64_t n = kBytes / sizeof(double);
  typedef double vec __attribute__((vector_size(kBytes)));
};

template <typename T>
using Vec = typename Lanes<T>::vec;

// `count` neighbouring instances; those beyond the last are zero and are never stored.
template <typename T>
inline Vec<T> load(const T* from, int64_t count) {
  Vec<T> v{};
  if (count == Lanes<T>::n) {
    std::memcpy(&v, from, kBytes);
  } else {
    std::memcpy(&v, from, count * sizeof(T));
  }
  return v;
}

template <typename T>
inline void store(T* to, Vec<T> v, int64_t count) {
  if (count == Lanes<T>::n) {
    std::memcpy(to, &v, kBytes);
  } else {
    std::memcpy(to, &v, count * sizeof(T));
  }
}

// The same past the caches, for what is not read again soon. Whoever streams calls `settle` before others read.
template <typename T>
inline void stream(T* to, Vec<T> v, int64_t count) {
#ifdef __AVX2__
  if (count == Lanes<T>::n && reinterpret_cast<uintptr_t>(to) % kBytes == 0) {
#ifdef __AVX512F__
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
#else
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
#endif
    return;
  }
#endif
  store(to, v, count);
}

inline void settle() {
#ifdef __AVX2__
  _mm_sfence();
#endif
}

template <typename T>
inline Vec<T> same(T x) {
  return Vec<T>{} + x;
}

template <typename T>
inline T total(Vec<T> v) {
  T sum = 0;
  for (int64_t k = 0; k < Lanes<T>::n; ++k) sum += v[k];
  return sum;
}

// As many vectors as a vector has numbers, transposed in place: blocks of H numbers off the diagonal change places, for
// H from half a vector down to 1.
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
template <typename T, int H, int... L>
inline void exchange(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, L...>) {
  constexpr int n = Lanes<T>::n;
  const Vec<T> upper = __builtin_shufflevector(a, b, (L & H ? n + L - H : L)...);
  b = __builtin_shufflevector(a, b, (L & H ? n + L : L + H)...);
  a = upper;
}

template <typename T, int H = Lanes<T>::n / 2>
inline void transpose(Vec<T>* v) {
#pragma GCC unroll 16
  for (int k = 0; k < Lanes<T>::n; ++k) {
    if (!(k & H)) exchange<T, H>(v[k], v[k + H], std::make_integer_sequence<int, Lanes<T>::n>{});
  }
  if constexpr (H > 1) transpose<T, H / 2>(v);
}

// Of as many vectors as a vector has numbers the sums, side by side: what is left of a transposition if rows that would
// be added in the end are added as soon as they lie right.
template <typename T, int H = Lanes<T>::n / 2>
inline Vec<T> totals(Vec<T>* v) {
#pragma GCC unroll 16
  for (int k = 0; k < H; ++k) {
    exchange<T, H>(v[k], v[k + H], std::make_integer_sequence<int, Lanes<T>::n>{});
    v[k] += v[k + H];
  }
  if constexpr (H > 1) return totals<T, H / 2>(v);
  return v[0];
}
#else
template <typename T>
inline Vec<T> totals(Vec<T>* v) {
  Vec<T> sums;
  for (int64_t k = 0; k < Lanes<T>::n; ++k) sums[k] = total<T>(v[k]);
  return sums;
}

template <typename T>
inline void transpose(Vec<T>* v) {
  for (int64_t k = 0; k < Lanes<T>::n; ++k) {
    for (int64_t l = 0; l < k; ++l) {
      const T other = v[k][l];
      v[k][l] = v[l][k];
      v[l][k] = other;
    }
  }
}
#endif

inline Vec<double> exponential(Vec<double> x) {
  for (int64_t k = 0; k < Lanes<double>::n; ++k) x[k] = std::exp(x[k]);
  return x;
}

// e^x for x <= 0 to the last bit or two: x = n ln 2 + f, a polynomial in f (Cephes), and n into the exponent. Below the
// smallest normal number it gives zero's neighbour, of -inf zero, and NaN stays NaN: a comparison with it is false.
inline Vec<float> exponential(Vec<float> x) {
  using I = Lanes<float>::ints;
  const I never = x == -INFINITY;
  x = x < -87.f ? same(-87.f) : x;
  const Vec<float> t = x * 1.44269504f - 0.5f;
  const I n = __builtin_convertvector(t, I);
  const Vec<float> whole = __builtin_convertvector(n, Vec<float>);
  const Vec<float> f = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Vec<float> p = same(1.9875691500e-4f);
  p = p * f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * f * f + f + 1.f;
  return never ? Vec<float>{} : p * (Vec<float>)((n + 127) << 23);
}

// Softmax over j logits, in place.
template <typename T>
inline void softmax(Vec<T>* logits, int64_t j) {
  Vec<T> top = logits[0];
  for (int64_t k = 1; k < j; ++k) top = logits[k] > top ? logits[k] : top;
  Vec<T> sum{};
  for (int64_t k = 0; k < j; ++k) sum += logits[k] = exponential(logits[k] - top);
  const Vec<T> scale = T(1) / sum;
  for (int64_t k = 0; k < j; ++k) logits[k] *= scale;
}

// Memory for vectors, aligned to them.
template <typename T>
class Scratch {
 public:
  explicit Scratch(int64_t count) : bytes_((count + 1) * kBytes) {
    const auto at = reinterpret_cast<uintptr_t>(bytes_.data());
    first_ = reinterpret_cast<Vec<T>*>((at + kBytes - 1) / kBytes * kBytes);
    std::memset(static_cast<void*>(first_), 0, count * kBytes);
  }
  Vec<T>* take(int64_t count) {
    Vec<T>* part = first_;
    first_ += count;
    return part;
  }

 private:
  std::vector<unsigned char> bytes_;
  Vec<T>* first_;
};

// The sizes of a pass. A, X and Y are rows and columns where they are known at compile time, 0 where they are not.
struct Sizes {
  int64_t i, x, a, m, j, y;
  int64_t poses() const { return j * y * a; }
};

// How many vectors hold all instances.
template <typename T>
int64_t blocks(const Sizes& s) {
  return (s.m + Lanes<T>::n - 1) / Lanes<T>::n;
}

template <int A, int X, int Y>
struct Shape {
  Shape(const Sizes& s) : s(s) {}
  const Sizes s;
  int64_t a() const { return A ? A : s.a; }
  int64_t x() const { return X ? X : s.x; }
  int64_t y() const { return Y ? Y : s.y; }
};

}  // namespace torchcaps
