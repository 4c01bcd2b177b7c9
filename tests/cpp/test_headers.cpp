// Checks the headers on their own, without torch:
//   threefry.h against Random123's known answers (the files named on the command line);
//   numerics.h's float32 log, log1p and erf_inv against the model of JAX's, bit for bit.
// Prints what it checked; exits with 1 and the first differences if anything differs.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numerics.h"
#include "threefry.h"

// tests/data/float32_model.c
extern "C" float model_log(float);
extern "C" float model_log1p(float);
extern "C" float model_erf_inv(float);

namespace {

namespace numerics = torch_threefry::numerics;

int differences = 0;

// Count a difference; true for the first few, which are worth printing.
bool report() { return ++differences <= 10; }

// ---- The cipher ----

// One row, after its name and rounds: counter, key and answer, N words each.
template <class Word, int N>
bool check_row(const char* text, int rounds) {
  Word words[3][N];
  char* end = nullptr;
  for (auto& group : words) {
    for (Word& word : group) {
      word = Word(strtoull(text, &end, 16));
      if (end == text) return false;
      text = end;
    }
  }
  torch_threefry::threefry<Word, N>(words[0], words[1], rounds);
  return memcmp(words[0], words[2], sizeof(words[0])) == 0;
}

bool check_line(const char* line) {
  int words, width, rounds, length;
  if (sscanf(line, " threefry%dx%d %d%n", &words, &width, &rounds, &length) != 3) return false;
  const char* text = line + length;
  switch (100 * words + width) {
    case 232: return check_row<uint32_t, 2>(text, rounds);
    case 432: return check_row<uint32_t, 4>(text, rounds);
    case 264: return check_row<uint64_t, 2>(text, rounds);
    case 464: return check_row<uint64_t, 4>(text, rounds);
    default: return false;
  }
}

void check_known_answers(const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) {
    printf("cannot read %s\n", path);
    exit(1);
  }
  int rows = 0;
  for (char line[1024]; fgets(line, sizeof(line), file);) {
    if (line[strspn(line, " \n")] == '\0') continue;
    ++rows;
    if (!check_line(line) && report()) printf("not the known answer: %s", line);
  }
  fclose(file);
  printf("threefry: %d rows\n", rows);
}

// ---- The float32 functions ----

// Arguments i = 0, 1... of a check.
struct Points {
  const char* what;
  int64_t count;
  float (*at)(int64_t i);
};

constexpr int64_t kUniforms = 1 << 23;
constexpr int64_t kStride = 1021;  // odd, so the bit patterns hit are spread over every exponent

float uniform(int64_t i) { return float(i) * 0x1p-23f; }
float minus_uniform(int64_t i) { return -uniform(i); }
// The uniform on (-1, 1) behind the normal.
float signed_uniform(int64_t i) {
  const float low = -1.0f + 0x1p-24f, x = numerics::fma(uniform(i), 1.0f - low, low);
  return x > low ? x : low;
}
float pattern(int64_t i) { return numerics::float_from_bits(uint32_t(i * kStride)); }

constexpr float kSpecial[] = {
    0.0f, 0x1p-149f, 0x0.fffffep-126f, 0x1p-126f, 0x1.000002p-126f, 0x1p-24f, 0x1.6a09e4p-1f, 0x1.6a09e6p-1f,
    0x1.6a09e8p-1f, 0x1.a8279ap-2f, 0x1.a82798p-2f, 0x1.a8279cp-2f, 0x1.fffffep-1f, 1.0f, 0x1.000002p0f, 2.0f,
    0x1.fffffep127f, __builtin_inff(), __builtin_nanf("")};
constexpr int64_t kSpecials = sizeof(kSpecial) / sizeof(kSpecial[0]);
float special(int64_t i) { return i < kSpecials ? kSpecial[i] : -kSpecial[i - kSpecials]; }

const Points kUniform = {"uniforms", kUniforms, uniform};
const Points kMinusUniform = {"negated uniforms", kUniforms, minus_uniform};
const Points kSignedUniform = {"uniforms on (-1, 1)", kUniforms, signed_uniform};
const Points kAnyFloat[] = {
    {"bit patterns of all kinds", (int64_t(1) << 32) / kStride, pattern},
    {"special values", 2 * kSpecials, special},
};

// No arithmetic can tell one NaN from another, and which one results is up to the machine.
bool same(float a, float b) {
  return (a != a && b != b) || numerics::to_bits(a) == numerics::to_bits(b);
}

struct Log {
  static constexpr const char* name = "log";
  static float ours(float x) { return numerics::log(x); }
  static float model(float x) { return model_log(x); }
};
struct Log1p {
  static constexpr const char* name = "log1p";
  static float ours(float x) { return numerics::log1p(x); }
  static float model(float x) { return model_log1p(x); }
};
struct ErfInv {
  static constexpr const char* name = "erf_inv";
  static float ours(float x) { return numerics::erf_inv(x); }
  static float model(float x) { return model_erf_inv(x); }
};

// In blocks, so that the compiler vectorises the loop over our function, as in a kernel.
template <class F>
void check_float32(const Points& points) {
  constexpr int kBlock = 1024;
  float x[kBlock], y[kBlock];
  for (int64_t first = 0; first < points.count; first += kBlock) {
    const int64_t left = points.count - first;
    const int n = int(left < kBlock ? left : kBlock);
    for (int i = 0; i < n; ++i) x[i] = points.at(first + i);
    for (int i = 0; i < n; ++i) y[i] = F::ours(x[i]);
    for (int i = 0; i < n; ++i) {
      const float expected = F::model(x[i]);
      if (!same(y[i], expected) && report()) printf("%s(%a) is %a, not %a\n", F::name, x[i], y[i], expected);
    }
  }
  printf("%s: %" PRId64 " %s\n", F::name, points.count, points.what);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) check_known_answers(argv[i]);
  check_float32<Log>(kUniform);
  check_float32<Log1p>(kMinusUniform);
  check_float32<ErfInv>(kSignedUniform);
  for (const Points& points : kAnyFloat) {
    check_float32<Log>(points);
    check_float32<Log1p>(points);
    check_float32<ErfInv>(points);
  }
  if (differences) printf("%d differences\n", differences);
  return differences ? 1 : 0;
}
