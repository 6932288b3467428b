// One pass of the sort, by eight bits: a thread for each digit counts the keys of smaller ones, and
// then puts its own behind each other.
template <int SHIFT>
__global__ void digit(const unsigned* keys, unsigned* to) {
  const unsigned mine = threadIdx.x;
  int place = 0;
#pragma unroll 8
  for (int i = 0; i < N; ++i) place += (keys[i] >> SHIFT & 255) < mine;
#pragma unroll 8
  for (int i = 0; i < N; ++i) {
    const unsigned key = keys[i];
    if ((key >> SHIFT & 255) == mine) to[place++] = key;
  }
}
