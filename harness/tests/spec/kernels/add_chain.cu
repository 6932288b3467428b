extern "C" __global__ void add_chain() {}
