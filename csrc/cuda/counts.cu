// Poisson, binomial and multinomial counts.
#include "kernels.h"
#include "trials.h"
#include "values.h"

TTF_NAMESPACE_BEGIN

TTF_DEVICE double load_count_parameter(const Parameter& parameter, int64_t position) {
  return load_parameter<double>(parameter, Position{position});
}

TTF_DEVICE void put_count(const Draw& draw, double count, int64_t position) {
  const double counts[1] = {count};
  Result<AsCounts>::put(draw, counts, position);
}

template <class Stream>
TTF_KERNEL draw_poissons(TTF_ARGUMENT Draw draw, int64_t elements) {
  const bool same = !draw.parameter[0].differs_between_elements();
  const PoissonTrial shared = PoissonTrial::prepare(load_count_parameter(draw.parameter[0], 0), 0);
  PoissonTrials<Stream> trials;
  bool made = true;
  for (int64_t position = thread_number(); position < elements;) {
    if (made) {
      const double rate = load_count_parameter(draw.parameter[0], position);
      trials.begin(element_at<typename Stream::Key>(draw, position), draw.total, rate, shared, same);
    }
    made = trials.try_once();
    if (!made) continue;
    put_count(draw, trials.result(), position);
    position += thread_count();
  }
}

template <class Stream>
TTF_KERNEL draw_binomials(TTF_ARGUMENT Draw draw, int64_t elements) {
  const bool same = !draw.parameter[0].differs_between_elements() && !draw.parameter[1].differs_between_elements();
  const BinomialTrial shared =
      prepare_binomial(load_count_parameter(draw.parameter[0], 0), load_count_parameter(draw.parameter[1], 0));
  BinomialTrials<Stream> trials;
  bool made = true;
  for (int64_t position = thread_number(); position < elements;) {
    if (made) {
      const double n = load_count_parameter(draw.parameter[0], position);
      const double p = load_count_parameter(draw.parameter[1], position);
      trials.begin(element_at<typename Stream::Key>(draw, position), n, p, shared, same);
    }
    made = trials.try_once();
    if (!made) continue;
    put_count(draw, trials.result(), position);
    position += thread_count();
  }
}

// A thread a row, category by category: a binomial of what is left, under the category's own key, that is child j of the
// categories.
template <class Stream>
TTF_KERNEL draw_multinomials(TTF_ARGUMENT Multinomial multinomial, int64_t rows) {
  const Draw& draw = multinomial.rows;
  const int64_t categories = multinomial.categories, step = multinomial.shares.walk.step();
  const double* shares = nullptr;  // of the row
  Element<typename Stream::Key> row = {};
  double left = 0;
  int64_t category = 0;
  BinomialTrials<Stream> trials;
  bool made = true;
  for (int64_t position = thread_number(); position < rows;) {
    if (made) {
      if (category == 0) {
        row = element_at<typename Stream::Key>(draw, position);
        left = load_count_parameter(draw.parameter[0], position);
        shares = static_cast<const double*>(multinomial.shares.data) + multinomial.shares.walk.at(position * categories);
      }
      const Element<typename Stream::Key> own = {Stream::child(row.key, uint64_t(category), uint64_t(categories)), row.index};
      trials.begin(own, left, shares[category * step], BinomialTrial(), false);
    }
    made = trials.try_once();
    if (!made) continue;
    put_count(draw, trials.result(), position * categories + category);
    left = numerics::floor(left) - trials.result();
    if (++category < categories) continue;
    category = 0;
    position += thread_count();
  }
}

TTF_NAMESPACE_END

namespace torch_threefry {

Error draw_counts(const Draw& draw, void* stream) {
  const int64_t elements = draw.key_count * draw.count;
  return visit_stream(draw.impl, [&](auto of) {
    const bool binomial = draw.distribution == Distribution::binomial;
    return launch_items(binomial ? draw_binomials<decltype(of)> : draw_poissons<decltype(of)>, elements, stream, draw, elements);
  });
}

Error draw_multinomial(const Multinomial& multinomial, void* stream) {
  const int64_t rows = multinomial.rows.key_count * multinomial.rows.count;
  return visit_stream(multinomial.rows.impl, [&](auto of) {
    return launch_items(draw_multinomials<decltype(of)>, rows, stream, multinomial, rows);
  });
}

}  // namespace torch_threefry
