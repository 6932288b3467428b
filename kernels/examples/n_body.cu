// A thread computes the pull on BODIES bodies. The block reads all bodies, tile by tile, through
// shared memory.
constexpr int kBlock = BLOCK;
constexpr int kBodies = BODIES;
constexpr int kUnroll = UNROLL;
constexpr float kSoftening = 0.01f;  // keeps the pull of a near body finite

static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");

extern "C" __global__ void __launch_bounds__(kBlock)
    n_body(const float4* bodies, float* pulls, int m) {
  __shared__ float4 tile[kBlock];
  const int first = blockIdx.x * kBlock * kBodies + threadIdx.x;
  float4 mine[kBodies];
  float3 pull[kBodies] = {};
#pragma unroll
  for (int b = 0; b < kBodies; ++b) mine[b] = bodies[min(first + b * kBlock, m - 1)];
  for (int begin = 0; begin < m; begin += kBlock) {
    const int i = begin + threadIdx.x;
    tile[threadIdx.x] = i < m ? bodies[i] : make_float4(0, 0, 0, 0);  // without mass, without pull
    __syncthreads();
#pragma unroll kUnroll
    for (int other = 0; other < kBlock; ++other) {
      const float4 body = tile[other];
#pragma unroll
      for (int b = 0; b < kBodies; ++b) {
        const float x = body.x - mine[b].x, y = body.y - mine[b].y, z = body.z - mine[b].z;
        const float inverse = rsqrtf(x * x + y * y + z * z + kSoftening);
        const float scale = body.w * inverse * inverse * inverse;
        pull[b].x += x * scale;
        pull[b].y += y * scale;
        pull[b].z += z * scale;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int b = 0; b < kBodies; ++b) {
    const int i = first + b * kBlock;
    if (i >= m) continue;
    pulls[3 * i] = pull[b].x;
    pulls[3 * i + 1] = pull[b].y;
    pulls[3 * i + 2] = pull[b].z;
  }
}
