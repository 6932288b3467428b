// What `n_body` must compute: one thread for each body.
extern "C" __global__ void pull(const float4* bodies, float* pulls) {
  const int mine = blockIdx.x * blockDim.x + threadIdx.x;
  if (mine >= M) return;
  double sum[3] = {};
  for (int i = 0; i < M; ++i) {
    const double d[3] = {(double)bodies[i].x - bodies[mine].x, (double)bodies[i].y - bodies[mine].y,
                         (double)bodies[i].z - bodies[mine].z};
    const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01f;
    for (int axis = 0; axis < 3; ++axis)
      sum[axis] += d[axis] * bodies[i].w / (square * sqrt(square));
  }
  for (int axis = 0; axis < 3; ++axis) pulls[3 * mine + axis] = sum[axis];
}
