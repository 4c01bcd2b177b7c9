// Draws that try until a candidate is accepted, a block of elements in lockstep: every lane makes a trial, the accepted
// ones are written to their slots, and the others move together, so that the next round's vectors are full.
#pragma once

#include <stdint.h>

#include "../distributions/counts.h"
#include "../distributions/gamma.h"
#include "words.h"

TTF_NAMESPACE_BEGIN

// The length of arrays that are used side by side: arrays a power of two apart would share a few sets of the cache.
constexpr int kLength = kBlock + 16;

// ---- Gamma ----

template <class T>
struct GammaBlock {
  alignas(64) T body[kLength], log_boost[kLength];

  TTF_HD GammaDraw<T> operator[](int i) const { return {body[i], log_boost[i]}; }
};

// Lanes that are still trying.
template <class Stream, class T>
struct GammaLanes {
  using Word = typename Format<T>::Word;
  using Keys = KeyBlock<typename Stream::Key>;

  Keys key;
  alignas(64) T d[kLength], c[kLength];  // of GammaTrial
  alignas(64) T x[kLength], root[kLength];
  int slot[kBlock];
  int count;

  void keep(int lane, int as) {
    key.take(as, key, lane);
    d[as] = d[lane];
    c[as] = c[lane];
    slot[as] = slot[lane];
  }

  void draw_normals(const Keys& keys, int n, Word* words) {
    Keys own;
    children<Stream>(keys, n, 1, 2, own);
    only_words<Stream>(own, n, words);
  }

  // x and 1 + c x, from normals along each key's chain until that is positive.
  void draw_roots(Keys& keys) {
    alignas(64) Word words[kBlock];
    draw_normals(keys, count, words);
    for (int i = 0; i < count; ++i) {
      x[i] = Normal<T>::value(words[i]);
      root[i] = GammaTrial<T>::root(c[i], x[i]);
    }
    int lane[kBlock], left = 0;
    for (int i = 0; i < count; ++i) {
      if (root[i] > 0) continue;
      lane[left] = i;
      keys.take(left++, keys, i);
    }
    while (left > 0) {
      children<Stream>(keys, left, 0, 2, keys);
      draw_normals(keys, left, words);
      int still_left = 0;
      for (int i = 0; i < left; ++i) {
        const int at = lane[i];
        x[at] = Normal<T>::value(words[i]);
        root[at] = GammaTrial<T>::root(c[at], x[at]);
        if (root[at] > 0) continue;
        lane[still_left] = at;
        keys.take(still_left++, keys, i);
      }
      left = still_left;
    }
  }

  // One trial a lane; the accepted leave.
  void try_once(T* body) {
    Keys own;
    alignas(64) Word words[kBlock];
    alignas(64) T accepted[kBlock];  // 1 or 0, as wide as the rest of the loop
    children<Stream>(key, count, 1, 3, own);
    draw_roots(own);
    children<Stream>(key, count, 2, 3, own);
    only_words<Stream>(own, count, words);
    for (int i = 0; i < count; ++i) {
      accepted[i] = GammaTrial<T>::accepts(d[i], x[i], root[i], unit(words[i])) ? T(1) : T(0);
    }
    int left = 0;
    for (int i = 0; i < count; ++i) {
      if (accepted[i] > 0) {
        body[slot[i]] = d[i] * (root[i] * root[i] * root[i]);
      } else {
        keep(i, left++);
      }
    }
    count = left;
    if (count > 0) children<Stream>(key, count, 0, 3, key);
  }
};

// The boosts of concentrations below 1, from the keys' second children.
template <class Stream, class T>
void gamma_log_boosts(const KeyBlock<typename Stream::Key>& keys, int count, const T* concentration, T* log_boost) {
  using Word = typename Format<T>::Word;
  KeyBlock<typename Stream::Key> boosted;
  alignas(64) Word words[kBlock];
  alignas(64) T alpha[kLength], log_u[kLength];
  int slot[kLength], n = 0;
  for (int i = 0; i < count; ++i) {
    log_boost[i] = 0;
    if (!GammaTrial<T>::is_boosted(concentration[i])) continue;
    boosted.take(n, keys, i);
    alpha[n] = concentration[i];
    slot[n++] = i;
  }
  if (n == 0) return;
  children<Stream>(boosted, n, 1, 2, boosted);
  only_words<Stream>(boosted, n, words);
  for (int i = 0; i < n; ++i) log_u[i] = gamma_log_boost(words[i], alpha[i]);
  for (int i = 0; i < n; ++i) log_boost[slot[i]] = log_u[i];
}

// keys: one an element.
template <class Stream, class T>
TTF_NOINLINE void draw_gammas(const KeyBlock<typename Stream::Key>& keys, int count, const T* concentration,
                              GammaBlock<T>& out) {
  GammaLanes<Stream, T> lanes;
  children<Stream>(keys, count, 0, 2, lanes.key);
  for (int i = 0; i < count; ++i) {
    const GammaTrial<T> trial = GammaTrial<T>::prepare(GammaTrial<T>::in_domain(concentration[i]));
    lanes.d[i] = trial.d;
    lanes.c[i] = trial.c;
    lanes.slot[i] = i;
  }
  lanes.count = count;
  while (lanes.count > 0) lanes.try_once(out.body);
  gamma_log_boosts<Stream>(keys, count, concentration, out.log_boost);
}

// ---- Counts ----

inline bool all_same(const double* x, int n) {
  double others = 0;
  for (int i = 0; i < n; ++i) others += x[i] == x[0] ? 0.0 : 1.0;
  return others == 0;
}

// Lanes of transformed rejection: each element's candidates come from a stream of its own, two 64-bit words a trial.
template <class Key, class Method>
class CountLanes {
 public:
  void add(const KeyBlock<Key>& keys, int element, double first, double second) {
    key_.take(count_, keys, element);
    same_ = count_ == 0 || (same_ && first == parameter_[0][0] && second == parameter_[1][0]);
    parameter_[0][count_] = first;
    parameter_[1][count_] = second;
    slot_[count_++] = element;
  }

  // A whole block with the same parameters.
  template <template <class> class Source>
  void add_all(const Source<Key>& source, int count, double first, double second) {
    own_keys(source, count, key_);
    parameter_[0][0] = first;
    parameter_[1][0] = second;
    for (int i = 0; i < count; ++i) slot_[i] = i;
    count_ = count;
  }

  void run(double* out) {
    prepare();
    for (uint32_t trial = 0; count_ > 0; ++trial) try_once(trial, out);
  }

 private:
  KeyBlock<Key> key_;
  alignas(64) double parameter_[2][kLength];
  alignas(64) double field_[Method::kFields][kLength];  // of Method
  alignas(64) double u_[kLength], v_[kLength], candidate_[kLength], verdict_[kLength];
  int slot_[kLength];
  int count_ = 0;
  bool same_ = true;  // whether all lanes have the same parameters, and so the same fields

  void prepare() {
    if (count_ > 0 && same_) {
      Method::prepare(parameter_[0][0], parameter_[1][0]).write(field_[0], kLength);
      for (int k = 0; k < Method::kFields; ++k) {
        for (int i = 1; i < count_; ++i) field_[k][i] = field_[k][0];
      }
    } else {
      for (int i = 0; i < count_; ++i) {
        Method::prepare(parameter_[0][i], parameter_[1][i]).write(field_[0] + i, kLength);
      }
    }
  }

  void keep(int lane, int as) {
    key_.take(as, key_, lane);
    slot_[as] = slot_[lane];
    if (same_) return;
    for (int k = 0; k < Method::kFields; ++k) field_[k][as] = field_[k][lane];
  }

  void try_once(uint32_t trial, double* out) {
    alignas(64) uint64_t first[kBlock], second[kBlock];
    own_words(key_, count_, trial, first, second);
    for (int i = 0; i < count_; ++i) {
      u_[i] = unit(first[i]) - 0.5;
      v_[i] = unit(second[i]);
    }
    for (int i = 0; i < count_; ++i) {
      const Trial result = Method::read(field_[0] + i, kLength).propose(u_[i], v_[i]);
      candidate_[i] = result.count;
      verdict_[i] = result.verdict;
    }
    decide();
    int left = 0;
    for (int i = 0; i < count_; ++i) {
      if (verdict_[i] > 0) {
        out[slot_[i]] = candidate_[i];
      } else {
        keep(i, left++);
      }
    }
    count_ = left;
  }

  // The candidates in doubt against their probabilities, side by side.
  void decide() {
    alignas(64) double field[Method::kFields][kLength], u[kLength], v[kLength], candidate[kLength], verdict[kLength];
    int lane[kLength], n = 0;
    for (int i = 0; i < count_; ++i) {
      lane[n] = i;
      n += verdict_[i] == 0;
    }
    for (int i = 0; i < n; ++i) {
      u[i] = u_[lane[i]];
      v[i] = v_[lane[i]];
      candidate[i] = candidate_[lane[i]];
    }
    const double* fields = field_[0];
    if (!same_) {
      fields = field[0];
      for (int k = 0; k < Method::kFields; ++k) {
        for (int i = 0; i < n; ++i) field[k][i] = field_[k][lane[i]];
      }
    }
    for (int i = 0; i < n; ++i) {
      verdict[i] = Method::read(fields + i, kLength).accepts(u[i], v[i], candidate[i]) ? 1.0 : -1.0;
    }
    for (int i = 0; i < n; ++i) verdict_[lane[i]] = verdict[i];
  }
};

// ---- Poisson ----

// Rates below 10, as JAX has them: Knuth's product of uniforms, as a sum of logarithms in float32. The uniforms of step
// t are a whole draw, under the second child of the t-th key of a chain of first children.

// The chain of a run's one key.
template <class Stream>
struct OneChain {
  using Key = typename Stream::Key;
  Listed<Key> listed;  // the lanes' indices, under the step's key
  Key chain;

  explicit OneChain(const Run<Key>& run) : chain(run.key) {}
  void add(const Run<Key>& run, int element, int lane) {
    listed.index.set(lane, run.first + uint64_t(run.step) * uint64_t(element));
  }
  void keep(int lane, int as) { listed.index.set(as, listed.index[lane]); }
  void next_step(int) {
    listed.key = Stream::child(chain, 1, 2);
    chain = Stream::child(chain, 0, 2);
  }
};

// A chain for each lane.
template <class Stream>
struct ManyChains {
  using Key = typename Stream::Key;
  Gather<Key> listed;
  KeyBlock<Key> chain;

  explicit ManyChains(const Gather<Key>&) {}
  void add(const Gather<Key>& gather, int element, int lane) {
    listed.index.set(lane, gather.index[element]);
    chain.take(lane, gather.keys, gather.key_of(element));
  }
  void keep(int lane, int as) {
    listed.index.set(as, listed.index[lane]);
    chain.take(as, chain, lane);
  }
  void next_step(int count) {
    children<Stream>(chain, count, 1, 2, listed.keys);
    listed.set_one_each(count);
    children<Stream>(chain, count, 0, 2, chain);
  }
};

template <class Stream>
OneChain<Stream> chain_of(const Run<typename Stream::Key>& run) {
  return OneChain<Stream>(run);
}
template <class Stream>
ManyChains<Stream> chain_of(const Gather<typename Stream::Key>& gather) {
  return ManyChains<Stream>(gather);
}

template <class Stream, class Source>
class KnuthLanes {
 public:
  explicit KnuthLanes(const Source& source) : source_(source), chain_(chain_of<Stream>(source)) {}

  void add(int element, float rate) {
    chain_.add(source_, element, count_);
    log_product_[count_] = 0;
    minus_rate_[count_] = -rate;
    slot_[count_++] = element;
  }

  void run(uint64_t n, double* out) {
    alignas(64) uint32_t word[kBlock];
    for (int step = 0; count_ > 0; ++step) {
      chain_.next_step(count_);
      words<Stream>(chain_.listed, count_, n, word);
      for (int i = 0; i < count_; ++i) {
        log_product_[i] += log_of_part(unit(word[i]));
      }
      int left = 0;
      for (int i = 0; i < count_; ++i) {
        if (log_product_[i] > minus_rate_[i]) {
          keep(i, left++);
        } else {
          out[slot_[i]] = step;
        }
      }
      count_ = left;
    }
  }

 private:
  const Source& source_;
  decltype(chain_of<Stream>(Source())) chain_;
  alignas(64) float log_product_[kLength], minus_rate_[kLength];
  int slot_[kLength];
  int count_ = 0;

  void keep(int lane, int as) {
    chain_.keep(lane, as);
    log_product_[as] = log_product_[lane];
    minus_rate_[as] = minus_rate_[lane];
    slot_[as] = slot_[lane];
  }
};

template <class Stream, class Source>
TTF_NOINLINE void draw_poissons(const Source& source, int count, uint64_t n, const double* rate, double* out) {
  KnuthLanes<Stream, Source> knuth(source);
  CountLanes<typename Stream::Key, PoissonTrial> rejection;
  const CountMethod method = poisson_method(rate[0]);
  if (method == CountMethod::large && all_same(rate, count)) {
    rejection.add_all(source, count, rate[0], 0);
    return rejection.run(out);
  }
  KeyBlock<typename Stream::Key> keys;
  bool have_keys = false;
  for (int i = 0; i < count; ++i) {
    switch (poisson_method(rate[i])) {
      case CountMethod::invalid: out[i] = not_a_number<double>(); break;
      case CountMethod::zero: out[i] = 0; break;
      case CountMethod::infinite: out[i] = rate[i]; break;
      case CountMethod::small: knuth.add(i, float(rate[i])); break;
      case CountMethod::large:
        if (!have_keys) own_keys(source, count, keys);
        have_keys = true;
        rejection.add(keys, i, rate[i], 0);
        break;
    }
  }
  knuth.run(n, out);
  rejection.run(out);
}

// ---- Binomial ----

// Lanes of inversion, in groups of a few vectors, until each of a group is over.
template <class Own>
class SearchLanes {
 public:
  using Keys = KeyBlock<typename Own::Key>;

  void add(const Keys& keys, int element, double n, double p) {
    key_.take(count_, keys, element);
    n_[count_] = n;
    p_[count_] = p;
    slot_[count_++] = element;
  }

  void run(double* out) {
    if (count_ == 0) return;
    alignas(64) uint64_t first[kBlock];
    only_words<Own>(key_, count_, first);
    prepare();
    for (int i = 0; i < count_; ++i) u_[i] = unit(first[i]);
    for (int base = 0; base < count_; base += kGroup) {
      Group group;
      for (int i = 0; i < kGroup; ++i) group.set(i, {n_[base + i], odds_[base + i], u_[base + i], term_[base + i], 0});
      for (int steps = 0; steps < BinomialSearch::kMost && group.advance(); steps += kSteps) {
      }
      for (int i = 0; i < kGroup && base + i < count_; ++i) out[slot_[base + i]] = group.found[i];
    }
  }

 private:
  static constexpr int kGroup = 16, kSteps = 4;

  // Where all lanes have the same parameters, once for all.
  void prepare() {
    bool same = true;
    for (int i = 1; i < count_; ++i) same = same && n_[i] == n_[0] && p_[i] == p_[0];
    const int several = same ? 1 : count_;
    for (int i = 0; i < several; ++i) {
      const BinomialSearch search = BinomialSearch::begin(0, n_[i], p_[i]);
      odds_[i] = search.odds;
      term_[i] = search.term;
    }
    // The lanes that fill a group up are over at once.
    for (int i = several; i < count_ + kGroup; ++i) {
      if (i >= count_) n_[i] = u_[i] = 0;
      odds_[i] = odds_[0];
      term_[i] = term_[0];
    }
  }

  struct Group {
    alignas(64) double n[kGroup], odds[kGroup], rest[kGroup], term[kGroup], found[kGroup];

    TTF_HD void set(int i, const BinomialSearch& search) {
      n[i] = search.n;
      odds[i] = search.odds;
      rest[i] = search.rest;
      term[i] = search.term;
      found[i] = search.count;
    }
    // A few steps; whether there are more to make.
    bool advance() {
      double going = 0;
      for (int i = 0; i < kGroup; ++i) {
        BinomialSearch search = {n[i], odds[i], rest[i], term[i], found[i]};
        for (int s = 0; s < kSteps; ++s) search.advance();
        set(i, search);
        going += search.is_over() ? 0.0 : 1.0;
      }
      return going > 0;
    }
  };

  Keys key_;
  alignas(64) double n_[kLength], p_[kLength], u_[kLength], odds_[kLength], term_[kLength];
  int slot_[kLength];
  int count_ = 0;
};

// For p > 1/2 the failures were counted.
inline void count_other_side(int count, const double* n, const double* p, double* out) {
  for (int i = 0; i < count; ++i) out[i] = p[i] > 0.5 ? numerics::floor(n[i]) - out[i] : out[i];
}

template <class Stream, class Source>
TTF_NOINLINE void draw_binomials(const Source& source, int count, const double* n, const double* p, double* out) {
  using Key = typename Stream::Key;
  SearchLanes<typename Stream::Own> search;
  CountLanes<Key, BinomialTrial> rejection;
  if (all_same(n, count) && all_same(p, count) && binomial_method(numerics::floor(n[0]), p[0]) == CountMethod::large) {
    rejection.add_all(source, count, numerics::floor(n[0]), p[0] > 0.5 ? 1 - p[0] : p[0]);
    rejection.run(out);
    return count_other_side(count, n, p, out);
  }
  KeyBlock<Key> keys;
  own_keys(source, count, keys);
  for (int i = 0; i < count; ++i) {
    const double whole = numerics::floor(n[i]), smaller = p[i] > 0.5 ? 1 - p[i] : p[i];
    switch (binomial_method(whole, p[i])) {
      case CountMethod::small: search.add(keys, i, whole, smaller); break;
      case CountMethod::large: rejection.add(keys, i, whole, smaller); break;
      case CountMethod::invalid: out[i] = not_a_number<double>(); break;
      default: out[i] = 0;
    }
  }
  search.run(out);
  rejection.run(out);
  count_other_side(count, n, p, out);
}

TTF_NAMESPACE_END
