// Memory that is used again: the system takes as long to hand out fresh pages as a pass takes to fill them.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/safe_numerics.h>

#include <map>
#include <mutex>

#include "pages.h"

namespace torchcaps {

// Buffers that nobody uses now, by size. A buffer belongs to one call at a time, whatever thread that runs in.
class Buffers {
 public:
  static Buffers& all() {
    static Buffers* buffers = new Buffers;  // never destroyed: a thread may still run when the process ends
    return *buffers;
  }

  // The smallest that is large enough, but not larger than `most`; or a new one.
  at::Tensor take(int64_t bytes, int64_t most) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = free_.lower_bound(bytes);
      if (found != free_.end() && found->first <= most) {
        at::Tensor buffer = std::move(found->second);
        kept_ -= found->first;
        free_.erase(found);
        return buffer;
      }
    }
    return in_huge_pages(at::empty({bytes}, at::kByte));
  }

  // Keep a buffer for the next call. Of too much memory, the buffers least like it go.
  void give(at::Tensor buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t bytes = buffer.numel();
    while (!free_.empty() && kept_ + bytes > kLimit) {
      const auto other = free_.begin()->first * 2 < bytes ? free_.begin() : std::prev(free_.end());
      kept_ -= other->first;
      free_.erase(other);
    }
    if (bytes > kLimit) return;
    kept_ += bytes;
    free_.emplace(bytes, std::move(buffer));
  }

  // Give all of them back to the system, and tell how many bytes they had.
  int64_t clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t bytes = kept_;
    free_.clear();
    kept_ = 0;
    return bytes;
  }

 private:
  static constexpr int64_t kLimit = int64_t(1) << 30;
  std::mutex mutex_;
  std::multimap<int64_t, at::Tensor> free_;
  int64_t kept_ = 0;
};

// A tensor whose memory is given back at the end of the call.
class Borrowed {
 public:
  Borrowed(int64_t numbers, const at::Tensor& like)
      : buffer_(take(std::max<int64_t>(1, numbers * like.element_size()))),
        tensor(at::from_blob(buffer_.data_ptr(), {numbers}, like.options())) {}
  ~Borrowed() { Buffers::all().give(std::move(buffer_)); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

 private:
  static at::Tensor take(int64_t bytes) { return Buffers::all().take(bytes, 4 * bytes); }
  at::Tensor buffer_;

 public:
  const at::Tensor tensor;
};

// An empty tensor for a result. One so large that the allocator would go to the system for it, and give it back when it
// is freed, gives its memory to the next such result instead.
inline at::Tensor result(at::IntArrayRef sizes, const at::Tensor& like) {
  constexpr int64_t kLarge = int64_t(1) << 25;  // above it glibc maps memory for each request
  uint64_t numbers = 0;
  for (const int64_t side : sizes) TORCH_CHECK_VALUE(side >= 0, "a result of ", sizes, " has a negative side");
  TORCH_CHECK_VALUE(!c10::safe_multiplies_u64(sizes, &numbers) && numbers < uint64_t(1) << 58, "a result of ", sizes,
                    " has more numbers than can be counted");
  const int64_t bytes = int64_t(numbers) * like.element_size();
  if (bytes < kLarge) return in_huge_pages(at::empty(sizes, like.options()));
  at::Tensor buffer = Buffers::all().take(bytes, bytes + bytes / 8);
  void* const data = buffer.data_ptr();
  const auto give = [buffer = std::move(buffer)](void*) mutable { Buffers::all().give(std::move(buffer)); };
  return at::from_blob(data, sizes, give, like.options());
}

inline at::Tensor result_like(const at::Tensor& t) { return result(t.sizes(), t); }

}  // namespace torchcaps
