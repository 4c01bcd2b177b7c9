// Words as they are.
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class W>
struct Bits {
  using Word = W;
  using Out = W;
  using Parameter = W;
  static constexpr int kParameters = 0;
  using Inputs = OneWord;

  TTF_HD static W value(W word) { return word; }
};

// Both words of a block, in memory order: a child key.
struct KeyPair : Bits<uint64_t> {
  TTF_HD static uint64_t value(uint64_t word) { return word << 32 | word >> 32; }
};

TTF_NAMESPACE_END
