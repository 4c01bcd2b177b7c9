// Words -> values -> the result, a few elements a thread.
#pragma once

#include <stdint.h>

#include "../distributions/catalog.h"
#include "../store_counts.h"
#include "elements.h"

TTF_NAMESPACE_BEGIN

// ---- Parameters ----

// Where a parameter is read: at an element's position, or, where all have the same, at the first.
struct Position {
  int64_t position;
  TTF_DEVICE int64_t of(const Walk& walk) const { return walk.at(position); }
};
struct First {
  TTF_DEVICE int64_t of(const Walk& walk) const { return walk.offset; }
};

template <class T, class At>
TTF_DEVICE T load_parameter(const Parameter& parameter, At at) {
  constexpr bool integral = T(0.5) == T(0);
  if (!parameter.data) return integral ? T(parameter.integer) : T(parameter.real);
  return static_cast<const T*>(parameter.data)[at.of(parameter.walk)];
}

// f(parameter...) of the element at a place.
template <class D, class At, class F>
TTF_DEVICE auto with_parameters(const Draw& draw, At at, F f) {
  using T = typename D::Parameter;
  if constexpr (D::kParameters == 1) {
    return f(load_parameter<T>(draw.parameter[0], at));
  } else if constexpr (D::kParameters == 2) {
    return f(load_parameter<T>(draw.parameter[0], at), load_parameter<T>(draw.parameter[1], at));
  } else {
    return f(load_parameter<T>(draw.parameter[0], at), load_parameter<T>(draw.parameter[1], at),
             load_parameter<T>(draw.parameter[2], at));
  }
}

template <class D, class At>
TTF_DEVICE auto prepare_at(const Draw& draw, At at) {
  return with_parameters<D>(draw, at, [](auto... parameters) {
    if constexpr (HasPrepared<D>::value) {
      return D::prepare(parameters...);
    } else {
      return (parameters, ...);  // the only one, as it is
    }
  });
}

// D's transform with the parameters at a place.
template <class D, class At, class... Inputs>
TTF_DEVICE typename D::Out transform_at(const Draw& draw, At at, Inputs... inputs) {
  if constexpr (D::kParameters == 0) {
    return D::value(inputs...);
  } else {
    if constexpr (HasRareCase<D>::value) {
      if (with_parameters<D>(draw, at, [](auto... parameters) { return D::is_rare(parameters...); })) {
        return with_parameters<D>(draw, at, [&](auto... parameters) { return D::rare_value(inputs..., parameters...); });
      }
    }
    return D::value(inputs..., prepare_at<D>(draw, at));
  }
}

// The same where all elements have the same parameters, which are prepared once a thread, and make no rare case.
template <class D, int kParameters = D::kParameters>
class Transform {
 public:
  TTF_DEVICE explicit Transform(const Draw& draw) : prepared_(prepare_at<D>(draw, First())) {}

  template <class... Inputs>
  TTF_DEVICE typename D::Out operator()(Inputs... inputs) const {
    return D::value(inputs..., prepared_);
  }

 private:
  const decltype(prepare_at<D>(Draw(), First())) prepared_;
};

template <class D>
class Transform<D, 0> {
 public:
  TTF_DEVICE explicit Transform(const Draw&) {}

  template <class... Inputs>
  TTF_DEVICE typename D::Out operator()(Inputs... inputs) const {
    return D::value(inputs...);
  }
};

// ---- Inputs ----

// Each input's own key. Inputs of one stream follow one another, so that its key is found once.
template <class Stream, class D>
struct InputKeys {
  using Key = typename Stream::Key;
  static constexpr int kCount = D::Inputs::kCount;
  Key key[kCount];

  template <int k = 0>
  TTF_DEVICE void set(const Key& of) {
    constexpr Input input = D::Inputs::kInputs[k];
    if constexpr (k > 0 && input.child == D::Inputs::kInputs[k > 0 ? k - 1 : 0].child) {
      key[k] = key[k - 1];
    } else {
      key[k] = input.child < 0 ? of : Stream::child(of, uint64_t(input.child), 2);
    }
    if constexpr (k + 1 < kCount) set<k + 1>(of);
  }
};

// Input k of the element at an index, a word.
template <class Stream, class D, int k>
TTF_DEVICE typename D::Word input_word(const InputKeys<Stream, D>& keys, uint64_t index, uint64_t n) {
  constexpr Input input = D::Inputs::kInputs[k];
  const uint64_t row = uint64_t(input.stride) * n;
  const uint64_t at = uint64_t(input.row) * row + uint64_t(input.stride) * index + uint64_t(input.offset);
  return stream_word<Stream, typename D::Word>(keys.key[k], at, uint64_t(input.rows) * row);
}

// f(input...) of a functor all of whose inputs are words.
template <class Stream, class D, class F>
TTF_DEVICE typename D::Out with_words(const InputKeys<Stream, D>& keys, uint64_t index, uint64_t n, F f) {
  constexpr int count = D::Inputs::kCount;
  if constexpr (count == 1) {
    return f(input_word<Stream, D, 0>(keys, index, n));
  } else if constexpr (count == 2) {
    return f(input_word<Stream, D, 0>(keys, index, n), input_word<Stream, D, 1>(keys, index, n));
  } else if constexpr (count == 3) {
    return f(input_word<Stream, D, 0>(keys, index, n), input_word<Stream, D, 1>(keys, index, n),
             input_word<Stream, D, 2>(keys, index, n));
  } else {
    return f(input_word<Stream, D, 0>(keys, index, n), input_word<Stream, D, 1>(keys, index, n),
             input_word<Stream, D, 2>(keys, index, n), input_word<Stream, D, 3>(keys, index, n));
  }
}

// ---- Results ----

// Values side by side; at once where they lie on a multiple of their size.
template <class T, int size>
TTF_DEVICE void store(const T (&values)[size], T* out, bool aligned) {
  struct alignas(size * sizeof(T)) Whole {
    T values[size];
  };
  if (size > 1 && aligned) {
    Whole whole;
    TTF_UNROLL(16)
    for (int i = 0; i < size; ++i) whole.values[i] = values[i];
    *reinterpret_cast<Whole*>(out) = whole;
  } else {
    TTF_UNROLL(16)
    for (int i = 0; i < size; ++i) out[i] = values[i];
  }
}

// Values as the result's elements position, position + 1..., made into what the catalog's tags say; float32 is rounded
// at run time, by the result's type.
template <class As>
struct Result {
  template <class T, int size>
  TTF_DEVICE static void put(const Draw& draw, const T (&values)[size], int64_t position, bool aligned = true) {
    store(values, static_cast<T*>(draw.out) + position, aligned);
  }
};

template <>
struct Result<Rounded<float>> {
  template <int size>
  TTF_DEVICE static void put(const Draw& draw, const float (&values)[size], int64_t position, bool aligned = true) {
    if (draw.value == Value::float32) return store(values, static_cast<float*>(draw.out) + position, aligned);
    uint16_t narrow[size];
    TTF_UNROLL(16)
    for (int i = 0; i < size; ++i) {
      narrow[i] = draw.value == Value::float16 ? Float16::narrow(values[i]) : BFloat16::narrow(values[i]);
    }
    store(narrow, static_cast<uint16_t*>(draw.out) + position, aligned);
  }
};

template <>
struct Result<AsCounts> {
  TTF_DEVICE static void put(const Draw& draw, const double (&count)[1], int64_t position) {
    store_counts(draw.value, count, 1, draw.out, position);
  }
};

// ---- Kernels ----

// `size` elements of a run from a position on; index is that of the run's stream at position 0.
template <int size, class As, class Stream, class D>
TTF_DEVICE void draw_piece(const Draw& draw, const InputKeys<Stream, D>& keys, const Transform<D>& transform,
                           uint64_t index, int64_t position) {
  typename D::Out values[size];
  TTF_UNROLL(16)
  for (int i = 0; i < size; ++i) {
    values[i] = with_words<Stream, D>(keys, index + uint64_t(position) + uint64_t(i), draw.total, transform);
  }
  Result<As>::put(draw, values, position);
}

// Runs of elements whose parameters are the same.
template <class Stream, class D, class As, int size>
TTF_KERNEL draw_runs(TTF_ARGUMENT Draw draw, TTF_ARGUMENT Runs runs) {
  const Transform<D> transform(draw);
  for (int64_t run = first_run(runs); run < runs.count; run += runs.teams) {
    const Division by = draw.key_count == 1 ? Division{0, run} : divide(run, runs.a_key);
    const Span span = span_of(run * runs.length, runs.length, size);
    const uint64_t index = uint64_t(draw.window.at(by.remainder * runs.length)) - uint64_t(span.begin);
    InputKeys<Stream, D> keys;
    keys.set(load_key<typename Stream::Key>(draw.keys, by.quotient));
    for_each_piece<size>(runs, span, [&](int64_t position) { draw_piece<size, As>(draw, keys, transform, index, position); },
                         [&](int64_t position) { draw_piece<1, As>(draw, keys, transform, index, position); });
  }
}

// The values of both words of `size` blocks of the original layout, of which the first has the counters c0 and c1.
template <int size, class D>
TTF_DEVICE void draw_both(const InputKeys<Threefry2x32Original, D>& keys, const Transform<D>& transform, uint32_t c0,
                          uint32_t c1, typename D::Out (&values)[2][size]) {
  constexpr int inputs = D::Inputs::kCount;
  TTF_UNROLL(16)
  for (int i = 0; i < size; ++i) {
    Key2x32 block[inputs];
    TTF_UNROLL(2)
    for (int k = 0; k < inputs; ++k) block[k] = encrypt(keys.key[k], c0 + uint32_t(i), c1 + uint32_t(i));
    TTF_UNROLL(2)
    for (int half = 0; half < 2; ++half) {
      if constexpr (inputs == 1) {
        values[half][i] = transform(block[0].word[half]);
      } else {
        values[half][i] = transform(block[0].word[half], block[1].word[half]);
      }
    }
  }
}

// The same for whole draws in the original layout, two runs at a time: block j of a key gives elements j and length + j,
// the last of which may be missing.
template <class D, class As, int size>
TTF_KERNEL draw_pairs(TTF_ARGUMENT Draw draw, TTF_ARGUMENT Runs runs) {
  const Transform<D> transform(draw);
  const bool aligned = runs.length % size == 0;
  for (int64_t run = first_run(runs); run < runs.count; run += runs.teams) {
    const int64_t begin = run * draw.count, end = begin + draw.count;
    InputKeys<Threefry2x32Original, D> keys;
    keys.set(load_key<Key2x32>(draw.keys, run));
    Span span = span_of(begin, draw.count - runs.length, size);
    span.end = begin + runs.length;
    for_each_piece<size>(
        runs, span,
        [&](int64_t position) {
          typename D::Out values[2][size];
          const uint32_t c0 = uint32_t(position - begin);
          draw_both<size, D>(keys, transform, c0, c0 + uint32_t(runs.length), values);
          Result<As>::put(draw, values[0], position);
          Result<As>::put(draw, values[1], position + runs.length, aligned);
        },
        [&](int64_t position) {
          typename D::Out values[2][1];
          const Place place = Threefry2x32Original::place32(0, uint32_t(position - begin), draw.total);
          draw_both<1, D>(keys, transform, place.c0, place.c1, values);
          Result<As>::put(draw, values[0], position);
          if (position + runs.length < end) Result<As>::put(draw, values[1], position + runs.length);
        });
  }
}

// The values of a block of threefry4x64 of each input, from the words at the same places.
template <class D>
TTF_DEVICE void draw_block(const InputKeys<Threefry4x64, D>& keys, const Transform<D>& transform, uint64_t block,
                           typename D::Out* values) {
  using Word = typename D::Word;
  constexpr int inputs = D::Inputs::kCount, parts = 8 / sizeof(Word);
  Block4x64 blocks[inputs];
  TTF_UNROLL(2)
  for (int k = 0; k < inputs; ++k) blocks[k] = stream_block(keys.key[k], block);
  TTF_UNROLL(32)
  for (int i = 0; i < 4 * parts; ++i) {
    const int word = i / parts, shift = i % parts * 8 * int(sizeof(Word));
    if constexpr (inputs == 1) {
      values[i] = transform(Word(blocks[0].word[word] >> shift));
    } else {
      values[i] = transform(Word(blocks[0].word[word] >> shift), Word(blocks[1].word[word] >> shift));
    }
  }
}

// Runs of elements of threefry4x64 whose parameters are the same, a block of the cipher a time. Here `size` is how many are
// stored at once.
template <class D, class As, int size>
TTF_KERNEL draw_blocks(TTF_ARGUMENT Draw draw, TTF_ARGUMENT Runs runs) {
  constexpr int in_block = 32 / int(sizeof(typename D::Word));
  const Transform<D> transform(draw);
  for (int64_t run = first_run(runs); run < runs.count; run += runs.teams) {
    const Division by = draw.key_count == 1 ? Division{0, run} : divide(run, runs.a_key);
    const int64_t begin = run * runs.length, end = begin + runs.length;
    const uint64_t index = uint64_t(draw.window.at(by.remainder * runs.length)), last = index + uint64_t(runs.length) - 1;
    InputKeys<Threefry4x64, D> keys;
    keys.set(load_key<Key4x64>(draw.keys, by.quotient));
    for (uint64_t block = index / in_block + uint64_t(first_lane(runs)); block <= last / in_block; block += uint64_t(runs.lanes)) {
      typename D::Out values[in_block];
      draw_block<D>(keys, transform, block, values);
      const int64_t first = begin + int64_t(block * in_block - index);
      const bool whole = first >= begin && first + in_block <= end, aligned = first % size == 0;
      TTF_UNROLL(32)
      for (int i = 0; i < in_block; i += size) {
        typename D::Out some[size];
        TTF_UNROLL(16)
        for (int j = 0; j < size; ++j) some[j] = values[i + j];
        if (whole) {
          Result<As>::put(draw, some, first + i, aligned);
          continue;
        }
        TTF_UNROLL(16)
        for (int j = 0; j < size; ++j) {
          const typename D::Out one[1] = {some[j]};
          if (first + i + j >= begin && first + i + j < end) Result<As>::put(draw, one, first + i + j);
        }
      }
    }
  }
}

// Any elements, one by one.
template <class Stream, class D, class As>
TTF_KERNEL draw_elements(TTF_ARGUMENT Draw draw, int64_t elements) {
  for (int64_t position = thread_number(); position < elements; position += thread_count()) {
    const auto element = element_at<typename Stream::Key>(draw, position);
    InputKeys<Stream, D> keys;
    keys.set(element.key);
    const typename D::Out values[1] = {with_words<Stream, D>(
        keys, element.index, draw.total, [&](auto... words) { return transform_at<D>(draw, Position{position}, words...); })};
    Result<As>::put(draw, values, position);
  }
}

// ---- Launches ----

inline bool has_same_parameters(const Draw& draw) {
  for (const Parameter& parameter : draw.parameter) {
    if (parameter.differs_between_elements()) return false;
  }
  return true;
}

// Whether parameters make D's rare case, or may: what lies on the device is not looked at.
template <class D>
bool may_be_rare(const Draw& draw) {
  if constexpr (HasRareCase<D>::value) {
    using T = typename D::Parameter;
    for (int k = 0; k < D::kParameters; ++k) {
      if (draw.parameter[k].data) return true;
    }
    return D::is_rare(T(draw.parameter[0].real), T(draw.parameter[1].real));
  }
  return false;
}

// Whether each word of a whole encrypted block makes an element.
template <class D>
constexpr bool has_blocks() {
  return D::Inputs::kCount <= 2 && are_own_words(D::Inputs::kInputs, D::Inputs::kCount);
}

template <class D, class As>
Error launch_elements(const Draw& draw, void* stream) {
  const int64_t elements = draw.key_count * draw.count;
  return visit_stream(draw.impl, [&](auto of) {
    return launch_items(draw_elements<decltype(of), D, As>, elements, stream, draw, elements);
  });
}

// A draw that has elements, by a functor all of whose inputs are words.
template <class D, class As>
Error launch_values(const Draw& draw, void* stream) {
  // A thread stores 16 bytes at once, or 8 where an element takes several words.
  constexpr int bytes = D::Inputs::kCount == 1 ? 16 : 8, size = bytes / int(sizeof(typename D::Out));
  if (!has_same_parameters(draw) || may_be_rare<D>(draw)) return launch_elements<D, As>(draw, stream);
  if (draw.impl == Impl::threefry2x32) {
    const Runs runs = runs_of_window(draw, size);
    if (runs.length >= 2 * size) return launch_runs(draw_runs<Threefry2x32, D, As, size>, draw, runs, stream);
  } else if (draw.impl == Impl::threefry2x32_original) {
    const bool whole = uint64_t(draw.count) == draw.total && draw.total > 1;
    if constexpr (has_blocks<D>() && sizeof(typename D::Word) == 4) {
      if (whole) return launch_runs(draw_pairs<D, As, size>, draw, runs_of_pairs(draw, size), stream);
    }
  } else if constexpr (has_blocks<D>()) {
    constexpr int in_block = 32 / int(sizeof(typename D::Word)), at_once = size < in_block ? size : in_block;
    const Runs runs = runs_of_window(draw, in_block);
    if (runs.length >= in_block) return launch_runs(draw_blocks<D, As, at_once>, draw, runs, stream);
  }
  return launch_elements<D, As>(draw, stream);
}

// A visitor of the catalog.
struct LaunchValues {
  const Draw& draw;
  void* stream;

  template <class D>
  Error operator()(Functor<D, AsTheyAre>) const {
    return launch_values<D, AsTheyAre>(draw, stream);
  }
  template <class D, class T>
  Error operator()(Functor<D, Rounded<T>>) const {
    return launch_values<D, Rounded<float>>(draw, stream);
  }
  template <class D>
  Error operator()(Functor<D, AsCounts>) const {
    return launch_elements<D, AsCounts>(draw, stream);
  }
};

TTF_NAMESPACE_END
