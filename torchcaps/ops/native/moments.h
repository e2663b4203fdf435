// The parents' side of moments: what x and the logits begin with.
#pragma once

#include "tiles.h"

namespace torchcaps {

// The parents' poses that the couplings depend on; an absent one is null.
template <typename T>
struct Parents {
  const T *centre, *query, *precision;

  bool fixed() const { return !query && !precision; }  // couplings, which are the same then whatever the votes
};

// The poses of n blocks of instances. x begins as offset = bias - centre, and a vote is added; a logit begins with the
// prior and base = <centre, query>, and the rest of it is a function of x.
template <typename T>
struct Poses {
  Vec<T> *offset, *query, *precision, *base;

  Poses(Scratch<T>& scratch, const Sizes& s, int64_t n)
      : offset(scratch.take(n * s.poses())),
        query(scratch.take(n * s.poses())),
        precision(scratch.take(n * s.poses())),
        base(scratch.take(n * s.j)) {}
  static int64_t room(const Sizes& s, int64_t n) { return n * (3 * s.poses() + s.j); }

  Poses from(int64_t block, const Sizes& s) const {
    Poses at = *this;
    for (Vec<T>** pose : {&at.offset, &at.query, &at.precision}) *pose += block * s.poses();
    at.base += block * s.j;
    return at;
  }

  void fill(const Inputs<T>& in, const Parents<T>& of, const Sizes& s, const Group& group) {
    const int64_t p = s.poses(), per = p / s.j, n = group.end - group.begin;
    pack(of.centre, offset, s, group);
    if (of.precision) pack(of.precision, precision, s, group);
    if (of.query) {
      pack(of.query, query, s, group);
      std::fill(base, base + n * s.j, Vec<T>{});
      for (int64_t k = 0; k < n * p; ++k) base[k / per] += offset[k] * query[k];
    }
    for (int64_t k = 0; k < n * p; ++k) offset[k] = (in.bias ? in.bias[k % p] : T(0)) - offset[k];
  }
};

}  // namespace torchcaps
