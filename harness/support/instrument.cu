// What a timed launch stands between.

// Reads everything and writes nothing. This evicts L2 and leaves only clean lines in it. Each
// thread has four loads in flight. To keep the compiler from removing the loads, the sum is stored
// if it hits one value in 2^32.
extern "C" __global__ void assay_read(const uint4* data, i64 n, u32* sink) {
  u32 sum = 0;
  i64 i = first_index();
  for (; i + 3 * stride() < n; i += 4 * stride()) {
    const uint4 a = __ldcg(data + i), b = __ldcg(data + i + stride());
    const uint4 c = __ldcg(data + i + 2 * stride()), d = __ldcg(data + i + 3 * stride());
    sum ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    sum ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; i < n; i += stride()) {
    const uint4 a = __ldcg(data + i);
    sum ^= a.x ^ a.y ^ a.z ^ a.w;
  }
  if (sum == 0x5EED5EEDu) *sink = sum;
}

__device__ u64 global_time_ns() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Holds the stream until the host has published `ticket`. If a call waits for the device while the
// stream is held, neither can go on. So it gives up after a second and says so.
extern "C" __global__ void assay_hold(const volatile u32* published, u32 ticket, u32* timed_out) {
  const u64 begin = global_time_ns();
  while ((int)(*published - ticket) < 0) {
    if (global_time_ns() - begin > 1000000000ull) {
      *timed_out = 1;
      __threadfence_system();
      return;
    }
  }
}

// As SupportKernels::Crowd.
struct Crowd {
  u32 arrived, over;
};

// Each block has an SM to itself: all of the shared memory, and all registers, 64 for each of 1024
// threads.
extern "C" __global__ void __launch_bounds__(1024)
    assay_occupy(u64 time_ns, volatile Crowd* crowd, u32* sink) {
  constexpr int kLive = 56;
  const u64 begin = global_time_ns();
  u32 live[kLive];
#pragma unroll
  for (int i = 0; i < kLive; ++i) live[i] = (u32)begin + i * threadIdx.x;
  if (threadIdx.x == 0) atomicAdd((u32*)&crowd->arrived, 1);
  while (crowd->over == 0 && global_time_ns() - begin < time_ns) {
#pragma unroll
    for (int i = 0; i < kLive; ++i) live[i] = live[i] * 1664525u + live[(i + 1) % kLive];
    __nanosleep(1000);
  }
  u32 sum = 0;
#pragma unroll
  for (int i = 0; i < kLive; ++i) sum ^= live[i];
  if (sum == 0x5EED5EEDu) *sink = sum;
}

// The same with few registers, 16 at most, so that half of them are left: blocks that leave room
// for one block of another kernel, and no more.
extern "C" __global__ void __launch_bounds__(1024)
    assay_narrow(u64 time_ns, volatile Crowd* crowd) {
  const u64 begin = global_time_ns();
  if (threadIdx.x == 0) atomicAdd((u32*)&crowd->arrived, 1);
  while (crowd->over == 0 && global_time_ns() - begin < time_ns) __nanosleep(1000);
}

struct Stamp {
  u64 time_ns, cycles;
};

// One stamp before the work and one after it give the SM clock during the work. Each SM counts its
// own cycles, so the stamp is always of the first SM.
extern "C" __global__ void assay_stamp(Stamp* stamp) {
  u32 sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm != 0) return;
  stamp->time_ns = global_time_ns();
  stamp->cycles = (u64)clock64();
}

extern "C" __global__ void assay_empty() {}
