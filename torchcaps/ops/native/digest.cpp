// A number for the bits of a tensor: another one, but for one case in 2^64, once any bit has changed or moved.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <cstring>
#include <vector>

namespace torchcaps {
namespace {

constexpr int64_t kWords = 8, kBlock = 1 << 16;  // words side by side, and the bytes that one thread takes at a time
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;    // 2^64 over the golden ratio

inline uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kOdd;
  return hash ^ hash >> 32;
}

uint64_t digest_block(const char* bytes, int64_t count) {
  uint64_t hashes[kWords] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t at = 0; at < count; at += sizeof(hashes)) {
    uint64_t words[kWords] = {};
    std::memcpy(words, bytes + at, std::min<int64_t>(sizeof(words), count - at));
    for (int64_t k = 0; k < kWords; ++k) hashes[k] = mix(hashes[k], words[k]);
  }
  uint64_t hash = count;
  for (const uint64_t each : hashes) hash = mix(hash, each);
  return hash;
}

int64_t digest(const at::Tensor& t) {
  const at::Tensor whole = t.contiguous();
  const char* bytes = static_cast<const char*>(whole.const_data_ptr());
  const int64_t count = whole.numel() * whole.element_size(), blocks = (count + kBlock - 1) / kBlock;
  std::vector<uint64_t> found(blocks);
  at::parallel_for(0, blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      found[k] = digest_block(bytes + k * kBlock, std::min(kBlock, count - k * kBlock));
    }
  });
  uint64_t hash = 0;
  for (const uint64_t each : found) hash = mix(hash, each);
  return static_cast<int64_t>(hash);
}

}  // namespace
}  // namespace torchcaps

// The schema is declared in torchcaps/ops/spectral/operator.py.
TORCH_LIBRARY_IMPL(torchcaps, CPU, m) { m.impl("digest", torchcaps::digest); }
