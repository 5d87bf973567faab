// A standard block for short signals, trained on the spot:
//
//   Conv1D → ReLU → MaxPool1D(2) → Conv1D → ReLU → MaxPool1D(2) → dense
//
// It learns to tell a rising ramp from a single bump, in noise. All memory is in `Network`: no
// heap, nothing global. Nothing is included but tiny.hpp, so it runs on a micro-controller as it
// is.
#ifndef EXAMPLES_TINY_BLOCK_HPP_
#define EXAMPLES_TINY_BLOCK_HPP_

#include <stdint.h>

#include "ndpool/tiny.hpp"

namespace block {

constexpr int kLength = 32, kChannels1 = 4, kChannels2 = 6, kTaps = 3;

// The pooling layers: shapes are known here, so all sizes are constants and the layers lie in
// flash.
constexpr auto kPool1 = ndpool::tiny::MaxPool1D(2).input(kChannels1, kLength);
constexpr auto kPool2 = ndpool::tiny::MaxPool1D(2).input(kChannels2, kLength / 2);
static_assert(kPool1.ok() && kPool2.ok());
static_assert(kPool1.dropped() == 0 && kPool2.dropped() == 0, "no sample is left out");
constexpr int kFeatures = kPool2.output_size();

// Numbers that repeat from run to run.
class Noise {
 public:
  float next() {  // between -1 and 1
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(state_ >> 8) / 8388608.0f - 1.0f;
  }

 private:
  uint32_t state_ = 1;
};

// Taps at -1, 0, 1; samples outside are 0.
template <int kIn, int kOut, int kSamples>
struct Conv1D {
  float weight[kOut][kIn][kTaps], bias[kOut];

  void start(Noise* noise) {
    for (auto& out : weight)
      for (auto& in : out)
        for (float& w : in) w = 0.5f * noise->next();
    for (float& b : bias) b = 0;
  }

  void forward(const float* x, float* y) const {
    for (int o = 0; o < kOut; ++o)
      for (int i = 0; i < kSamples; ++i) {
        float sum = bias[o];
        for (int c = 0; c < kIn; ++c)
          for (int t = 0; t < kTaps; ++t) {
            const int at = i + t - 1;
            if (0 <= at && at < kSamples) sum += weight[o][c][t] * x[c * kSamples + at];
          }
        y[o * kSamples + i] = sum > 0 ? sum : 0;  // ReLU
      }
  }

  // y: what forward gave; gy: its gradient. Moves the weights against the gradient; writes gx
  // unless null.
  void backward(const float* x, const float* y, const float* gy, float rate, float* gx) {
    if (gx != nullptr)
      for (int i = 0; i < kIn * kSamples; ++i) gx[i] = 0;
    for (int o = 0; o < kOut; ++o)
      for (int i = 0; i < kSamples; ++i) {
        const int place = o * kSamples + i;
        if (y[place] <= 0) continue;  // ReLU lets nothing back
        const float g = gy[place];
        bias[o] -= rate * g;
        for (int c = 0; c < kIn; ++c)
          for (int t = 0; t < kTaps; ++t) {
            const int at = i + t - 1;
            if (at < 0 || at >= kSamples) continue;
            if (gx != nullptr) gx[c * kSamples + at] += g * weight[o][c][t];
            weight[o][c][t] -= rate * g * x[c * kSamples + at];
          }
      }
  }
};

// Weights, activations, masks and gradients.
struct Network {
  Conv1D<1, kChannels1, kLength> conv1;
  Conv1D<kChannels1, kChannels2, kLength / 2> conv2;
  float dense[kFeatures], dense_bias;

  float x[kLength];
  float y1[kPool1.input_size()], p1[kPool1.output_size()];
  float y2[kPool2.input_size()], p2[kPool2.output_size()];
  uint8_t mask1[kPool1.mask_bytes()], mask2[kPool2.mask_bytes()];  // one byte an output
  float gp1[kPool1.output_size()], gy1[kPool1.input_size()];
  float gp2[kPool2.output_size()], gy2[kPool2.input_size()];

  void start(Noise* noise) {
    conv1.start(noise);
    conv2.start(noise);
    for (float& w : dense) w = 0.2f * noise->next();
    dense_bias = 0;
  }

  // The score of x: above 0 is a bump, below a ramp.
  float forward(bool training, ndpool::tiny::Error* error) {
    using ndpool::tiny::Error;
    conv1.forward(x, y1);
    *error = training ? kPool1.forward(y1, p1, mask1) : kPool1.forward(y1, p1);
    conv2.forward(p1, y2);
    const Error second = training ? kPool2.forward(y2, p2, mask2) : kPool2.forward(y2, p2);
    if (*error == Error::none) *error = second;
    float score = dense_bias;
    for (int i = 0; i < kFeatures; ++i) score += dense[i] * p2[i];
    return score;
  }

  // Moves all weights a little against the gradient of the squared error.
  ndpool::tiny::Error learn(float score, float wanted, float rate) {
    using ndpool::tiny::Error;
    const float g = score - wanted;
    for (int i = 0; i < kFeatures; ++i) {
      gp2[i] = g * dense[i];
      dense[i] -= rate * g * p2[i];
    }
    dense_bias -= rate * g;
    const Error second = kPool2.backward(gp2, mask2, gy2);
    conv2.backward(p1, y2, gy2, rate, gp1);
    const Error first = kPool1.backward(gp1, mask1, gy1);
    conv1.backward(x, y1, gy1, rate, nullptr);
    return second != Error::none ? second : first;
  }
};

// Fills x with a ramp (-1) or a bump (1) at some place, in noise; returns which.
inline float make_signal(Noise* noise, float* x) {
  const bool bump = noise->next() > 0;
  const int centre = 8 + static_cast<int>((noise->next() + 1) * 7.5f);
  for (int i = 0; i < kLength; ++i) {
    const int away = i < centre ? centre - i : i - centre;
    const float shape = bump ? (away < 3 ? 1.0f - 0.3f * static_cast<float>(away) : 0.0f)
                             : 0.6f * static_cast<float>(i) / kLength;
    x[i] = shape + 0.15f * noise->next();
  }
  return bump ? 1.0f : -1.0f;
}

struct Outcome {
  ndpool::tiny::Error error = ndpool::tiny::Error::none;
  int steps = 0, right = 0, tested = 0;
};

inline Outcome train(Network* network, int steps) {
  Outcome outcome;
  Noise noise;
  network->start(&noise);
  for (; outcome.steps < steps; ++outcome.steps) {
    const float wanted = make_signal(&noise, network->x);
    const float score = network->forward(true, &outcome.error);
    if (outcome.error == ndpool::tiny::Error::none) {
      outcome.error = network->learn(score, wanted, 0.02f);
    }
    if (outcome.error != ndpool::tiny::Error::none) return outcome;
  }
  for (; outcome.tested < 200; ++outcome.tested) {
    const float wanted = make_signal(&noise, network->x);
    outcome.right += (network->forward(false, &outcome.error) > 0) == (wanted > 0);
  }
  return outcome;
}

}  // namespace block

#endif  // EXAMPLES_TINY_BLOCK_HPP_
