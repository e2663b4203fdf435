// Large results in huge pages, where the system has them for who asks: it takes as long to hand out 42 MB in small ones
// as a core takes for a billion multiply-adds.
#pragma once

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <cstdint>

namespace torchcaps {

// The same tensor, whose memory nobody has touched yet.
inline at::Tensor in_huge_pages(at::Tensor t) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = uintptr_t(1) << 21;
  if (t.nbytes() < 2 * kPage) return t;
  const uintptr_t at = reinterpret_cast<uintptr_t>(t.data_ptr());
  const uintptr_t begin = (at + kPage - 1) / kPage * kPage, end = (at + t.nbytes()) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advice: that it was not taken is no error
#endif
  return t;
}

}  // namespace torchcaps
