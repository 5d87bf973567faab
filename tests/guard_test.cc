// Arrays that end where memory ends, and such that begin there: nothing beside them is read or
// written, on any SIMD target.
#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ndpool/ndpool.h"
#include "src/machine.h"
#include "tests/support/engine.h"

namespace ndpool::test {
namespace {

enum class At { end, begin };

// Some bytes between two pages that must not be touched, at the end of the memory between them or
// at its beginning.
class Guarded {
 public:
  Guarded(size_t bytes, At at) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t room = (bytes + page_ - 1) / page_ * page_;
    size_ = room + 2 * page_;
    memory_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED || mprotect(first(), room, PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
    data_ = at == At::end ? first() + room - bytes : first();
  }
  ~Guarded() { munmap(memory_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  char* data() const { return data_; }

 private:
  char* first() const { return static_cast<char*>(memory_) + page_; }
  size_t page_, size_ = 0;
  void* memory_ = nullptr;
  char* data_ = nullptr;
};

struct Plan {
  explicit Plan(const std::string& line) {
    ndpool_error error = {};
    if (ndpool_plan_parse(line.c_str(), &handle, &error) != NDPOOL_OK) {
      ADD_FAILURE() << line << ": " << error.message;
    }
  }
  ~Plan() { ndpool_plan_destroy(handle); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  size_t elements(void (*shape_of)(const ndpool_plan*, int64_t*)) const {
    std::vector<int64_t> shape(static_cast<size_t>(ndpool_plan_rank(handle)));
    shape_of(handle, shape.data());
    size_t n = 1;
    for (const int64_t size : shape) n *= static_cast<size_t>(size);
    return n;
  }
  ndpool_plan* handle = nullptr;
};

// Small whole numbers, which every type has; their averages over 2^k taps are exact, others are
// compared between calls of the same kind only.
void fill(char* to, size_t count, int32_t type) {
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<int8_t>(i * 7919 % 101 % 64);
    if (type == NDPOOL_F32) {
      const auto value = static_cast<float>(number);
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    } else if (type == NDPOOL_F64) {
      const auto value = static_cast<double>(number);
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    } else {
      const size_t size = ndpool_type_size(type);
      std::memset(to + i * size, number, size);
    }
  }
}

std::string bytes(const char* from, size_t count) { return {from, count}; }

// What a call gives: the bytes of y, of the argmax, and of dx.
std::vector<std::string> results(const std::string& line, At at) {
  const Plan plan(line);
  if (!plan.handle) return {};
  const int32_t type = ndpool_plan_input_type(plan.handle);
  const size_t size = ndpool_type_size(type);
  const size_t cells = plan.elements(ndpool_plan_input_shape);
  const size_t outputs = plan.elements(ndpool_plan_output_shape);
  const bool extreme = line.rfind("max", 0) == 0;
  const size_t winners = extreme ? ndpool_type_size(ndpool_plan_argmax_type(plan.handle)) : 0;
  const Guarded x(cells * size, at), y(outputs * size, at), argmax(outputs * winners, at);
  const Guarded g(outputs * size, at), dx(cells * size, at);
  fill(x.data(), cells, type);
  fill(g.data(), outputs, type);
  const ndpool_array none{nullptr, nullptr};
  ndpool_error error = {};
  std::vector<std::string> all;
  const auto check = [&](int32_t code) {
    EXPECT_EQ(code, NDPOOL_OK) << line << ": " << error.message;
  };
  check(ndpool_forward(plan.handle, {x.data(), nullptr}, {y.data(), nullptr}, none, none, nullptr,
                       &error));
  all.push_back(bytes(y.data(), outputs * size));
  if (extreme) {
    check(ndpool_forward(plan.handle, {x.data(), nullptr}, {y.data(), nullptr},
                         {argmax.data(), nullptr}, none, nullptr, &error));
    all.push_back(bytes(y.data(), outputs * size));
    all.push_back(bytes(argmax.data(), outputs * winners));
  }
  if (type >= NDPOOL_F16 && type <= NDPOOL_F64) {
    check(extreme ? ndpool_vjp_argmax(plan.handle, {argmax.data(), nullptr}, {g.data(), nullptr},
                                      {dx.data(), nullptr}, nullptr, &error)
                  : ndpool_vjp(plan.handle, {x.data(), nullptr}, {g.data(), nullptr},
                               {dx.data(), nullptr}, nullptr, &error));
    all.push_back(bytes(dx.data(), cells * size));
  }
  return all;
}

void expect_nothing_beside(const std::vector<std::string>& geometries) {
  for (const std::string& geometry : geometries) {
    for (const char* op : {"max f32 ", "avg f32 ", "max f16 ", "max i8 ", "avg i16 ", "avg f64 "}) {
      const std::string line = op + geometry;
      const std::vector<std::string> wanted = results(line + " algorithm=rows", At::end);
      for (const std::string& target : targets()) {
        for (const At at : {At::end, At::begin}) {
          EXPECT_EQ(results(line + " target=" + target, at), wanted) << line << ", " << target;
        }
      }
    }
  }
}

TEST(Guard, NothingBesideAnArrayIsReadOrWritten) {
  const std::vector<std::string> geometries = {"97x2x2 global axes=1,2",
                                               "300x2x2 w2x2 s1 p1",
                                               "100x3 w2 s1",
                                               "1000x2 a8",
                                               "1000x2 a16",
                                               "1000x7 w4 s1 p3",
                                               "300x5 a9",
                                               "300x2x1 w2x2 s1 p1",
                                               "41x7x7 global axes=1,2",
                                               "17x37x28 global axes=1,2",
                                               "5x33x13 global axes=1,2",
                                               "37x13x13 a6x6",
                                               "19x14x14 w3x3 s2 p1",
                                               "9x16x33 w2x2",
                                               "9x17x65 w3x3 s2 p1",
                                               "5x16x67 w3x3 s2",
                                               "5x16x65 w2x2 s2 ceil",
                                               "3x30x70 w3x3 s1 p1",
                                               "5x20x20 w5x5 s1 p2",
                                               "3x9x25 w3x7 s1 p1x3",
                                               "2x40x90 w31x31 s1 p15",
                                               "2x20x300 w7x101 s1 p3x50",
                                               "2x6x40x20 w2x2 axes=1,2",
                                               "2x11x12x32 w3x3 s2 p1 axes=1,2",
                                               "2x7x9x16 w3x3 s1 p1 axes=1,2",
                                               "3x20x16 w2 axes=1",
                                               "3x9x130 w3x3 s2 p1",
                                               "2x6x290 w2x2",
                                               "2x12x40 w3x3 d2 s1",
                                               "3x9x65 w3x3 s2 p1x1:0",
                                               "3x9x20 w3x3 s1 p1",
                                               "2x5x19x35 w3x3x3 s2 p1"};
  for (const size_t streaming : {size_t{0}, size_t{1}}) {
    set_streaming_bytes(streaming);
    expect_nothing_beside(geometries);
  }
  set_streaming_bytes(0);
}

// What goes past the caches goes in whole lines of them; where results begin and end between two
// lines, the bytes beside them stay.
TEST(Guard, ResultsThatGoPastTheCachesLeaveWhatLiesBesideThem) {
  set_streaming_bytes(1);
  for (const std::string geometry :
       {"2x6x7x32 w3x3 s2 p1 axes=1,2", "2x5x8x16 w2x2 axes=1,2", "3x9x33 w2x2 s1",
        "2x20x70 w3x3 s2 p1", "2x9x16 w3 s2 axes=1"}) {
    for (const std::string& target : targets()) {
      const std::string line = "max f32 " + geometry + " target=" + target;
      const Plan plan(line);
      const Plan rows("max f32 " + geometry + " algorithm=rows");
      const size_t cells = plan.elements(ndpool_plan_input_shape);
      const size_t outputs = plan.elements(ndpool_plan_output_shape);
      std::vector<float> x(cells), wanted(outputs), wanted_dx(cells);
      std::vector<uint8_t> argmax(outputs);
      fill(reinterpret_cast<char*>(x.data()), cells, NDPOOL_F32);
      const auto run = [&](const Plan& with, float* y, float* dx) {
        ndpool_error error = {};
        EXPECT_EQ(ndpool_forward(with.handle, {x.data(), nullptr}, {y, nullptr},
                                 {argmax.data(), nullptr}, {nullptr, nullptr}, nullptr, &error),
                  NDPOOL_OK)
            << line << ": " << error.message;
        EXPECT_EQ(ndpool_vjp_argmax(with.handle, {argmax.data(), nullptr}, {x.data(), nullptr},
                                    {dx, nullptr}, nullptr, &error),
                  NDPOOL_OK)
            << line << ": " << error.message;
      };
      run(rows, wanted.data(), wanted_dx.data());
      constexpr size_t kBeside = 64;
      for (size_t skip = 0; skip < 16; ++skip) {
        std::vector<float> y(outputs + 2 * kBeside, -7), dx(cells + 2 * kBeside, -7);
        std::vector<float> wanted_y = y, wanted_all_dx = dx;
        std::copy(wanted.begin(), wanted.end(), wanted_y.begin() + kBeside / 2 + skip);
        std::copy(wanted_dx.begin(), wanted_dx.end(), wanted_all_dx.begin() + kBeside / 2 + skip);
        run(plan, y.data() + kBeside / 2 + skip, dx.data() + kBeside / 2 + skip);
        EXPECT_EQ(y, wanted_y) << line << ", " << skip << " floats further";
        EXPECT_EQ(dx, wanted_all_dx) << line << ", " << skip << " floats further";
      }
    }
  }
  set_streaming_bytes(0);
}

// Planes of fewer results than a vector has lanes, on both sides of the end of an array.
TEST(Guard, ResultsOfTinyPlanesLeaveWhatLiesBesideThem) {
  for (const std::string line :
       {"max f32 40x5 w2 s2 axes=1", "avg f32 30x3x7 w2x2 s3x4", "max f32 50x4x3 w3x2 s1",
        "max f32 64x9x9 a2x2", "avg f32 7x12x16 w3x3 s4"}) {
    const Plan plan(line), rows(line + " algorithm=rows");
    std::vector<float> x(plan.elements(ndpool_plan_input_shape));
    fill(reinterpret_cast<char*>(x.data()), x.size(), NDPOOL_F32);
    std::vector<float> y(plan.elements(ndpool_plan_output_shape) + 64, -7), wanted = y;
    for (auto [with, to] : {std::pair(&plan, &y), std::pair(&rows, &wanted)}) {
      ndpool_error error = {};
      EXPECT_EQ(ndpool_forward(with->handle, {x.data(), nullptr}, {to->data() + 32, nullptr},
                               {nullptr, nullptr}, {nullptr, nullptr}, nullptr, &error),
                NDPOOL_OK)
          << line << ": " << error.message;
    }
    EXPECT_EQ(y, wanted) << line;
  }
}

TEST(Guard, BytesThatGoPastTheCachesLeaveWhatLiesBesideThem) {
  for (const size_t streaming : {size_t{0}, size_t{1}}) {
    set_streaming_bytes(streaming);
    for (const std::string line :
         {"max u8 3x9x130 w3x3 s2 p1", "avg i8 2x6x290 w2x2", "avg u8 30x8x96 w3x3 s2 p1"}) {
      const Plan plan(line), rows(line + " algorithm=rows");
      std::vector<uint8_t> x(plan.elements(ndpool_plan_input_shape));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * i / 7);
      const size_t outputs = plan.elements(ndpool_plan_output_shape);
      const auto run = [&](const Plan& with, uint8_t* y) {
        ndpool_error error = {};
        EXPECT_EQ(ndpool_forward(with.handle, {x.data(), nullptr}, {y, nullptr}, {nullptr, nullptr},
                                 {nullptr, nullptr}, nullptr, &error),
                  NDPOOL_OK)
            << line << ": " << error.message;
      };
      for (size_t skip = 0; skip < 64; ++skip) {
        std::vector<uint8_t> y(outputs + 192, 77), wanted = y;
        run(rows, wanted.data() + 64 + skip);
        run(plan, y.data() + 64 + skip);
        EXPECT_EQ(y, wanted) << line << ": results begin " << skip << " bytes further";
      }
    }
  }
  set_streaming_bytes(0);
}

}  // namespace
}  // namespace ndpool::test

#endif
