// The kernel of the textbooks: a thread for each body, and tiles of 256 bodies in shared memory.
extern "C" __global__ void pull(const float4* bodies, float* pulls) {
  __shared__ float4 tile[256];
  const int mine = blockIdx.x * 256 + threadIdx.x;
  const float4 body = bodies[min(mine, M - 1)];
  float x = 0, y = 0, z = 0;
  for (int first = 0; first < M; first += 256) {
    const int other = first + threadIdx.x;
    tile[threadIdx.x] = other < M ? bodies[other] : float4{0, 0, 0, 0};
    __syncthreads();
    for (int i = 0; i < 256; ++i) {
      const float dx = tile[i].x - body.x, dy = tile[i].y - body.y, dz = tile[i].z - body.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float pull = tile[i].w * inverse * inverse * inverse;
      x += dx * pull;
      y += dy * pull;
      z += dz * pull;
    }
    __syncthreads();
  }
  if (mine >= M) return;
  pulls[3 * mine] = x;
  pulls[3 * mine + 1] = y;
  pulls[3 * mine + 2] = z;
}
