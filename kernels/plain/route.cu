// Choices in the order of the experts, one after the other.

/// `starts`, `rows` and `places` as moe_route makes them, by one thread.
__global__ void order_choices(const int* ids, int* starts, int* rows, int* places) {
  int row = 0;
  for (int expert = 0; expert < E; ++expert) {
    starts[expert] = row;
    for (int i = 0; i < M * TOP; ++i) {
      if (ids[i] != expert) continue;
      rows[row] = i / TOP;
      places[i] = row++;
    }
  }
  starts[E] = row;
}
