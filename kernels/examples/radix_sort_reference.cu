// One pass of the sort, by eight bits, in 32 parts of the keys: a block for each part, and in it a
// thread for each digit. The first kernel counts a part's keys of a digit. The second puts them
// behind all keys of smaller digits and behind the earlier parts' keys of the same digit.
constexpr int kParts = 32;
constexpr int kPart = (N + kParts - 1) / kParts;

template <int SHIFT>
__global__ void digits(const unsigned* keys, int* counts) {
  const unsigned mine = threadIdx.x;
  int count = 0;
  for (int i = blockIdx.x * kPart; i < min(N, (blockIdx.x + 1) * kPart); ++i)
    count += (keys[i] >> SHIFT & 255) == mine;
  counts[mine * kParts + blockIdx.x] = count;
}

template <int SHIFT>
__global__ void move(const unsigned* keys, const int* counts, unsigned* to) {
  const unsigned mine = threadIdx.x;
  int place = 0;
  for (int i = 0; i < mine * kParts + blockIdx.x; ++i) place += counts[i];
  for (int i = blockIdx.x * kPart; i < min(N, (blockIdx.x + 1) * kPart); ++i)
    if ((keys[i] >> SHIFT & 255) == mine) to[place++] = keys[i];
}
