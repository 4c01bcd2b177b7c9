// Gamma draws, and what is made of them.
#include "kernels.h"
#include "trials.h"
#include "values.h"

TTF_NAMESPACE_BEGIN

// The inputs of an element of D, one of which, or two, are gamma draws.
template <class Stream, class D>
class GammaInputs {
 public:
  using T = typename D::Parameter;
  static constexpr int kCount = D::Inputs::kCount;
  static constexpr int kGammas = count_gammas(D::Inputs::kInputs, kCount);

  TTF_DEVICE explicit GammaInputs(const Draw& draw) : draw_(draw) {}

  TTF_DEVICE void begin_at(int64_t position) {
    position_ = position;
    element_ = element_at<typename Stream::Key>(draw_, position);
    keys_.set(element_.key);
    number_ = 0;
    begin();
  }

  // Whether the last of the gamma draws has been made.
  TTF_DEVICE bool try_once() {
    if (!trials_.try_once()) return false;
    (number_ == 0 ? first_ : second_) = trials_.result();
    if (++number_ == kGammas) return true;
    begin();
    return false;
  }

  TTF_DEVICE T value() const {
    const auto prepared = prepare_at<D>(draw_, Position{position_});
    if constexpr (kCount == 1) {
      return D::value(input<0>(), prepared);
    } else {
      return D::value(input<0>(), input<1>(), prepared);
    }
  }

 private:
  const Draw& draw_;
  int64_t position_;
  Element<typename Stream::Key> element_;
  InputKeys<Stream, D> keys_;
  GammaTrials<Stream, T> trials_;
  int number_;  // of the gamma draw under way
  GammaDraw<T> first_, second_;

  static constexpr int kFirst = D::Inputs::kInputs[0].kind == Input::gamma ? 0 : 1;  // which input the first gamma draw is

  TTF_DEVICE void begin() {
    const int number = number_;
    const T concentration = with_parameters<D>(draw_, Position{position_}, [number](auto... parameters) {
      return D::concentration(number, parameters...);
    });
    const typename Stream::Key& key = number == 0 ? keys_.key[kFirst] : keys_.key[kCount - 1];
    trials_.begin(Stream::element_key(key, element_.index, draw_.total), concentration);
  }

  template <int k>
  TTF_DEVICE auto input() const {
    if constexpr (D::Inputs::kInputs[k].kind == Input::gamma) {
      return k == kFirst ? first_ : second_;
    } else {
      return input_word<Stream, D, k>(keys_, element_.index, draw_.total);
    }
  }
};

template <class Stream, class D, class As>
TTF_KERNEL draw_gammas(TTF_ARGUMENT Draw draw, int64_t elements) {
  GammaInputs<Stream, D> inputs(draw);
  bool made = true;
  for (int64_t position = thread_number(); position < elements;) {
    if (made) inputs.begin_at(position);
    made = inputs.try_once();
    if (!made) continue;
    const typename D::Out values[1] = {inputs.value()};
    Result<As>::put(draw, values, position);
    position += thread_count();
  }
}

// A visitor of the catalog.
struct LaunchGammas {
  const Draw& draw;
  void* stream;

  template <class D>
  Error operator()(Functor<D, AsTheyAre>) const {
    return launch_gammas<D, AsTheyAre>();
  }
  template <class D, class T>
  Error operator()(Functor<D, Rounded<T>>) const {
    return launch_gammas<D, Rounded<float>>();
  }

 private:
  template <class D, class As>
  Error launch_gammas() const {
    const int64_t elements = draw.key_count * draw.count;
    return visit_stream(draw.impl, [&](auto of) {
      return launch_items(draw_gammas<decltype(of), D, As>, elements, stream, draw, elements);
    });
  }
};

TTF_NAMESPACE_END

namespace torch_threefry {

Error draw_gamma_family(const Draw& draw, void* stream) { return visit_gamma_family(draw, LaunchGammas{draw, stream}); }

}  // namespace torch_threefry
