// What stands around a layer with a mixture of experts: logits that make tokens choose given
// experts, and the weights of these. M, E and TOP are macros.

__device__ float random_unit(unsigned long long seed, unsigned long long at) {
  unsigned long long x = seed + (at + 1) * 0x9E3779B97F4A7C15ull;  // splitmix64
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return (float)((x ^ x >> 31) >> 40) * 5.9604645e-8f;
}

/// A token's first expert has a logit of 4 to 4.2, the next one 0.3 less and so on. Those that it
/// does not choose have -2 to 1.5, and less than those where there are many to choose.
__global__ void make_logits(float* logits, const int* ids, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M * E) return;
  const int token = i / E, expert = i % E;
  float logit = 1.5f - 0.3f * (TOP > 8 ? TOP - 8 : 0) - 3.5f * random_unit(seed, i);
  for (int j = 0; j < TOP; ++j) {
    if (ids[token * TOP + j] == expert) logit = 4.0f - 0.3f * j + 0.2f * random_unit(seed, i);
  }
  logits[i] = logit;
}

/// The softmax over the logits of the experts that a token chooses.
__global__ void weigh_choices(const float* logits, const int* ids, float* weights) {
  const int token = blockIdx.x * blockDim.x + threadIdx.x;
  if (token >= M) return;
  const auto logit = [&](int j) { return logits[token * E + ids[token * TOP + j]]; };
  float sum = 0;
  for (int j = 0; j < TOP; ++j) sum += expf(logit(j) - logit(0));
  for (int j = 0; j < TOP; ++j) weights[token * TOP + j] = expf(logit(j) - logit(0)) / sum;
}
