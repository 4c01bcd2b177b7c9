// Draws by rejection, and by other loops whose length is the element's own. Every pass of a thread's loop makes one trial,
// of whichever element the thread has come to: a thread that is done with one goes on with its next while the others of
// its warp are still trying.
#pragma once

#include <stdint.h>

#include "../distributions/counts.h"
#include "../distributions/gamma.h"
#include "../draw.h"
#include "elements.h"

TTF_NAMESPACE_BEGIN

// The only word of a key's draw of one.
template <class Stream, class Word>
TTF_DEVICE Word only_word(const typename Stream::Key& key) {
  return stream_word<Stream, Word>(key, 0, 1);
}

// ---- Gamma ----

// One gamma draw under way.
template <class Stream, class T>
class GammaTrials {
 public:
  using Key = typename Stream::Key;
  using Word = typename Format<T>::Word;

  TTF_DEVICE void begin(const Key& key, T concentration) {
    trial_key_ = Stream::child(key, 0, 2);
    trial_ = GammaTrial<T>::prepare(GammaTrial<T>::in_domain(concentration));
    log_boost_ = 0;
    if (GammaTrial<T>::is_boosted(concentration)) {
      log_boost_ = gamma_log_boost(only_word<Stream, Word>(Stream::child(key, 1, 2)), concentration);
    }
  }

  // Whether the draw has been made.
  TTF_DEVICE bool try_once() {
    Key normals = Stream::child(trial_key_, 1, 3);
    T x, root;
    do {  // seldom twice
      x = Normal<T>::value(only_word<Stream, Word>(Stream::child(normals, 1, 2)));
      root = GammaTrial<T>::root(trial_.c, x);
      if (!(root > 0)) normals = Stream::child(normals, 0, 2);
    } while (!(root > 0));
    const T u = unit(only_word<Stream, Word>(Stream::child(trial_key_, 2, 3)));
    body_ = trial_.d * (root * root * root);
    const bool accepted = GammaTrial<T>::accepts(trial_.d, x, root, u);
    if (!accepted) trial_key_ = Stream::child(trial_key_, 0, 3);
    return accepted;
  }

  TTF_DEVICE GammaDraw<T> result() const { return {body_, log_boost_}; }

 private:
  Key trial_key_;
  GammaTrial<T> trial_;
  T body_, log_boost_;
};

// ---- Counts ----

// Transformed rejection by Method, from an element's own stream.
template <class Own, class Method>
class CountTrials {
 public:
  using Key = typename Own::Key;

  TTF_DEVICE void begin(const Key& own, const Method& method) {
    key_ = own;
    method_ = method;
    trial_ = 0;
  }

  TTF_DEVICE bool try_once(double* count) {
    const TwoWords words = Own::own_words(key_, trial_++);
    const double u = unit(words.first) - 0.5, v = unit(words.second);
    const Trial trial = method_.propose(u, v);
    *count = trial.count;
    return trial.verdict > 0 || (trial.verdict == 0 && method_.accepts(u, v, trial.count));
  }

 private:
  Key key_;
  Method method_;
  uint32_t trial_;
};

// One Poisson count under way. Small rates as JAX has them: Knuth's product of uniforms, as a sum of logarithms in
// float32. The uniforms of step t are a whole draw, under the second child of the t-th key of a chain of first children.
template <class Stream>
class PoissonTrials {
 public:
  using Key = typename Stream::Key;

  // n: the elements of the whole draw. Where all rates are the same, `shared` is what they ask of a trial.
  TTF_DEVICE void begin(const Element<Key>& element, uint64_t n, double rate, const PoissonTrial& shared, bool same) {
    method_ = poisson_method(rate);
    count_ = method_ == CountMethod::invalid ? not_a_number<double>() : method_ == CountMethod::infinite ? rate : 0;
    if (method_ == CountMethod::large) {
      rejection_.begin(Stream::own_key(element.key, element.index), same ? shared : PoissonTrial::prepare(rate, 0));
    } else {
      chain_ = element.key;
      index_ = element.index;
      n_ = n;
      log_product_ = 0;
      minus_rate_ = -float(rate);
    }
  }

  TTF_DEVICE bool try_once() {
    if (method_ == CountMethod::large) return rejection_.try_once(&count_);
    if (method_ != CountMethod::small) return true;
    const uint32_t word = stream_word<Stream, uint32_t>(Stream::child(chain_, 1, 2), index_, n_);
    chain_ = Stream::child(chain_, 0, 2);
    log_product_ += log_of_part(unit(word));
    if (!(log_product_ > minus_rate_)) return true;
    ++count_;
    return false;
  }

  TTF_DEVICE double result() const { return count_; }

 private:
  CountMethod method_;
  double count_;
  CountTrials<typename Stream::Own, PoissonTrial> rejection_;
  Key chain_;
  uint64_t index_, n_;
  float log_product_, minus_rate_;
};

// What all elements ask of a trial where they have the same parameters.
TTF_DEVICE BinomialTrial prepare_binomial(double n, double p) {
  return BinomialTrial::prepare(numerics::floor(n), p > 0.5 ? 1 - p : p);
}

// One binomial count under way.
template <class Stream>
class BinomialTrials {
 public:
  using Key = typename Stream::Key;

  TTF_DEVICE void begin(const Element<Key>& element, double n, double p, const BinomialTrial& shared, bool same) {
    n_ = numerics::floor(n);
    other_side_ = p > 0.5;
    const double smaller = other_side_ ? 1 - p : p;
    method_ = binomial_method(n_, p);
    count_ = method_ == CountMethod::invalid ? not_a_number<double>() : 0;
    if (method_ == CountMethod::large) {
      rejection_.begin(Stream::own_key(element.key, element.index), same ? shared : prepare_binomial(n, p));
    } else if (method_ == CountMethod::small) {
      const double u = unit(stream_word<typename Stream::Own, uint64_t>(Stream::own_key(element.key, element.index), 0, 0));
      search_ = BinomialSearch::begin(u, n_, smaller);
    }
  }

  TTF_DEVICE bool try_once() {
    if (method_ == CountMethod::large) return rejection_.try_once(&count_);
    if (method_ != CountMethod::small) return true;
    // Steps of a search are cheap; the limit is that of the CPU's, which a search never comes near to.
    for (int step = 0; step < kSteps && !search_.is_over() && search_.count < BinomialSearch::kMost; ++step) search_.advance();
    count_ = search_.count;
    return search_.is_over() || search_.count >= BinomialSearch::kMost;
  }

  // Above p = 1/2 the failures were counted.
  TTF_DEVICE double result() const { return other_side_ ? n_ - count_ : count_; }

 private:
  static constexpr int kSteps = 4;

  CountMethod method_;
  bool other_side_;
  double n_, count_;
  CountTrials<typename Stream::Own, BinomialTrial> rejection_;
  BinomialSearch search_;
};

TTF_NAMESPACE_END
