// Which elements of a draw a thread makes: from a position of the result to a key and an index in its draw.
#pragma once

#include <stdint.h>

#include "../draw.h"
#include "launch.h"

TTF_NAMESPACE_BEGIN

// ---- One by one ----

template <class Key>
struct Element {
  Key key;
  uint64_t index;
};

template <class Key>
TTF_DEVICE Element<Key> element_at(const Draw& draw, int64_t position) {
  const Division by = draw.key_count == 1 ? Division{0, position} : divide(position, draw.count);
  return {load_key<Key>(draw.keys, by.quotient), uint64_t(draw.window.at(by.remainder))};
}

// ---- In runs ----

// The result as runs of elements that follow one another in one key's draw. A run is cut into pieces, at multiples of
// their size in the result, where a whole piece is stored at once. Some threads side by side, the lanes, go over the
// pieces of a run, and others over other runs: nothing is divided but to find a run.
struct Runs {
  int64_t count, length;
  int64_t a_key;   // runs of one key
  int64_t pieces;  // of a run, at most
  int64_t lanes = 1, teams = 1;  // threads a run at a time, and runs at a time
  int log2_lanes = 0;
};

inline Runs runs_of(int64_t key_count, int64_t a_key, int64_t length, int size) {
  return {key_count * a_key, length, a_key, divide_up(length, size)};
}

// Of a window: its innermost axis, if that is consecutive.
inline Runs runs_of_window(const Draw& draw, int size) {
  const Walk& window = draw.window;
  const int64_t length = window.axes > 0 && window.step() == 1 ? window.extent[window.axes - 1] : 1;
  return runs_of(draw.key_count, draw.count / length, length, size);
}

// Of the blocks of a whole draw in the original layout: block j gives elements j and length + j.
inline Runs runs_of_pairs(const Draw& draw, int size) { return runs_of(draw.key_count, 1, divide_up(draw.count, 2), size); }

TTF_DEVICE int64_t first_run(const Runs& runs) { return thread_number() >> runs.log2_lanes; }
TTF_DEVICE int64_t first_lane(const Runs& runs) { return thread_number() & ((int64_t(1) << runs.log2_lanes) - 1); }

// A run's positions in the result, and those of its whole pieces.
struct Span {
  int64_t begin, end, whole_begin, whole_end;
};

TTF_DEVICE Span span_of(int64_t begin, int64_t length, int size) {
  const int64_t end = begin + length, next = divide_up(begin, size) * size, last = end / size * size;
  return {begin, end, next < last ? next : end, next < last ? last : end};
}

// piece(position) for every whole piece that is this thread's, and single(position) for every element besides.
template <int size, class Piece, class Single>
TTF_DEVICE void for_each_piece(const Runs& runs, const Span& span, Piece piece, Single single) {
  const int64_t lane = first_lane(runs), head = span.whole_begin - span.begin, singles = head + span.end - span.whole_end;
  for (int64_t position = span.whole_begin + lane * size; position < span.whole_end; position += runs.lanes * size) {
    piece(position);
  }
  for (int64_t i = lane; i < singles; i += runs.lanes) {
    single(i < head ? span.begin + i : span.whole_end + i - head);
  }
}

// A run's lanes are a power of two, of which the grid has a multiple; a single run has all threads.
inline void choose_lanes(Runs& runs, Grid& grid) {
  constexpr int kWarp = 32;
  const int64_t share = grid.all_threads() / runs.count, wanted = share > kWarp ? share : kWarp;
  if (runs.count == 1) {
    runs.log2_lanes = 62;
    runs.lanes = grid.all_threads();
    return;
  }
  while (runs.lanes < runs.pieces && runs.lanes < wanted && 2 * runs.lanes <= grid.all_threads()) runs.lanes *= 2;
  while (int64_t(1) << runs.log2_lanes < runs.lanes) ++runs.log2_lanes;
  if (runs.lanes > grid.threads) {
    const int blocks = int(runs.lanes / grid.threads);
    grid.blocks = grid.blocks / blocks * blocks;
  }
  runs.teams = grid.all_threads() / runs.lanes;
}

inline Error launch_runs(void (*kernel)(Draw, Runs), const Draw& draw, Runs runs, void* stream) {
  Grid grid;
  if (Error error = choose_grid(kernel, runs.count * runs.pieces, &grid)) return error;
  choose_lanes(runs, grid);
  return launch(kernel, grid, stream, draw, runs);
}

TTF_NAMESPACE_END
