#include "run_ptx.h"

// Races in shared memory, and between blocks in global memory: what orders two accesses, and what
// does not.

namespace assay::emulator {
namespace {

/// Findings of a body of 64 threads; %r1 is the thread, %r3 the address of its word of `s`, %r4
/// that of the mirrored thread's. What is in %r5 and %r6 in the end is stored.
std::string races(const std::string& body, std::uint64_t seed = 1,
                  bool finds_uninitialised = true) {
  PtxRun run;
  run.add(std::vector<std::uint32_t>(1024));
  run.shape.block = {64, 1, 1};
  run.options.seed = seed;
  run.options.max_instructions = 1'000'000;
  run.options.finds_uninitialised = finds_uninitialised;
  run.run_body(R"(.shared .align 16 .b32 s[64]; .shared .align 8 .b64 bar; .loc 1 5 1
  mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; sub.u32 %r4, 63, %r1;
  mad.lo.u32 %r4, %r4, 4, %r2; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32;
)" + body + R"(
  add.u32 %r5, %r5, %r6; mad.wide.u32 %rd5, %r1, 4, %rd0; st.global.u32 [%rd5], %r5;
)",
               ".file 1 \"k.cu\"\n");
  return run.findings();
}

bool has_race(const std::string& body) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string text = races(body, seed);
    if (text.find("race") == std::string::npos) return false;  // it is found by every seed
  }
  return true;
}

TEST(Races, ABarrierOrdersThreads) {
  EXPECT_EQ(races("st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4];"), "");
  const std::string text = races("st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r4];");
  EXPECT_THAT(text, HasSubstr("race: "));
  EXPECT_THAT(text, HasSubstr("of shared memory, which was ")) << text;
  EXPECT_THAT(text, HasSubstr("k.cu:5")) << text;
  // Reads are ordered before the writes of the next round, too.
  EXPECT_TRUE(
      has_race("st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4];"
               "st.shared.u32 [%r3], %r5;"));
  EXPECT_EQ(races("st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4];"
                  "bar.sync 0; st.shared.u32 [%r3], %r5;"),
            "");
}

TEST(Races, ABarrierOrdersThreadsThatHaveEnded) {
  const std::string begin = "st.shared.u32 [%r3], %r1; @!%p2 exit; ";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(races(begin + "bar.sync 0; ld.shared.u32 %r5, [%r4];", seed), "");
  }
  EXPECT_NE(races(begin + "ld.shared.u32 %r5, [%r4];"), "");
  EXPECT_NE(races(begin + "bar.sync 0, 32; ld.shared.u32 %r5, [%r4];"), "");
}

TEST(Races, SeveralMayWriteTheSame) {
  const std::string seven = "st.shared.u32 [%r2], 7; ";
  const std::string read = "bar.sync 0; ld.shared.u32 %r5, [%r2]; ";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) EXPECT_EQ(races(seven + read + seven, seed), "");
  EXPECT_TRUE(has_race(seven + "ld.shared.u32 %r5, [%r2]; "));
  EXPECT_TRUE(has_race("st.shared.u32 [%r2], %r1; " + read));
  EXPECT_TRUE(has_race(seven + read + "st.shared.u32 [%r2], 8; "));
}

TEST(Races, WhatNothingUsesMayBeOverwritten) {
  // Kernels read a slice ahead that they drop, while other warps write their output there.
  const std::string begin = "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r7, [%r4]; ";
  const std::string write = "st.shared.u32 [%r3], %r4; ";
  const std::string matrix =
      "st.shared.u32 [%r3], %r1; bar.sync 0; and.b32 %r9, %r1, 7; mad.lo.u32 %r9, %r9, 16, %r2; "
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r9]; ";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(races(begin + write, seed), "");
    EXPECT_EQ(races(begin + "mov.u32 %r8, %r7; " + write, seed), "");
    EXPECT_EQ(races(matrix + write, seed), "");
  }
  EXPECT_TRUE(has_race(begin + "add.u32 %r5, %r7, 1; " + write));
  EXPECT_TRUE(has_race(begin + write + "add.u32 %r5, %r7, 1; "));
  EXPECT_TRUE(has_race(begin + "mov.u32 %r8, %r7; " + write + "add.u32 %r5, %r8, 1; "));
  EXPECT_TRUE(has_race(begin + write + "mov.u32 %r8, %r7; add.u32 %r5, %r8, 1; "));
  EXPECT_TRUE(has_race(matrix + write + "add.u32 %r5, %r7, 1; "));
  // The first of two reads was used.
  EXPECT_TRUE(
      has_race("mov.u32 %r9, 0; st.shared.u32 [%r3], %r1; bar.sync 0; "
               "L: add.u32 %r5, %r5, %r7; ld.shared.u32 %r7, [%r4]; bar.warp.sync -1; "
               "mov.u32 %r4, %r3; add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 3; @%p3 bra L; " +
               write));
}

TEST(Races, LanesOfAWarpAreOrderedByItsBarrier) {
  const std::string mirrored = "xor.b32 %r6, %r3, 4; ";
  EXPECT_TRUE(has_race(mirrored + "st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r6];"));
  EXPECT_EQ(
      races(mirrored + "st.shared.u32 [%r3], %r1; bar.warp.sync -1; ld.shared.u32 %r5, [%r6];"),
      "");
}

TEST(Races, NamedBarriersOrderWhoTakesPart) {
  EXPECT_EQ(races("@%p2 bra A; bar.sync 1, 64; ld.shared.u32 %r5, [%r4]; bra B;"
                  "A: st.shared.u32 [%r3], %r1; bar.arrive 1, 64; B:"),
            "");
  EXPECT_TRUE(
      has_race("st.shared.u32 [%r3], 0; bar.sync 0;"
               "@%p2 bra A; bar.arrive 1, 64; ld.shared.u32 %r5, [%r4]; bra B;"
               "A: st.shared.u32 [%r3], %r1; bar.sync 1, 64; B:"));
}

TEST(Races, AtomicsDoNotRaceWithEachOther) {
  EXPECT_EQ(races("@%p1 st.shared.u32 [%r2], 0; bar.sync 0; atom.shared.add.u32 %r5, [s], 1;"), "");
  EXPECT_TRUE(has_race("@%p1 st.shared.u32 [%r2], 0; atom.shared.add.u32 %r5, [s], 1;"));
}

// The double atomicAdd of CUDA's guide was convicted.
TEST(Races, TheFirstGuessOfACompareAndSwapMayBeOld) {
  const std::string add = R"(bar.sync 0; ld.shared.u32 %r7, [s];
L: add.u32 %r8, %r7, %r1; atom.shared.cas.b32 %r9, [s], %r7, %r8;
  setp.ne.u32 %p3, %r7, %r9; mov.u32 %r7, %r9; @%p3 bra L; )";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(
        races("@%p1 st.shared.u32 [s], 0; " + add + "bar.sync 0; ld.shared.u32 %r5, [s];", seed),
        "");
  }
  EXPECT_TRUE(has_race("@%p1 st.shared.u32 [s], 0; " + add + "ld.shared.u32 %r5, [s];"));
  EXPECT_TRUE(has_race(add + "st.shared.u32 [s], %r1;"));
}

TEST(Races, AnMbarrierOrdersACopyAndItsReaders) {
  const std::string begin = R"(@%p1 mbarrier.init.shared.b64 [bar], 1; 
  @%p1 fence.proxy.async.shared::cta; bar.sync 0; @!%p1 bra W; mov.u32 %r5, bar;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], 256, [%r5];
W: )";
  const std::string wait =
      "mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W; ld.shared.u32 %r6, [%r3];";
  EXPECT_EQ(races(begin + wait), "");
  EXPECT_NE(races(begin + "ld.shared.u32 %r6, [%r3];"), "");
  // A copy out needs a proxy fence behind what threads wrote, and a wait before they write again.
  const std::string out =
      "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 256;"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; E:";
  EXPECT_EQ(races("st.shared.u32 [%r3], %r1; fence.proxy.async.shared::cta; bar.sync 0;"
                  "@!%p1 bra E; " +
                  out),
            "");
  EXPECT_THAT(races("st.shared.u32 [%r3], %r1; bar.sync 0; @!%p1 bra E; " + out),
              HasSubstr("no fence.proxy.async comes between"));
}

TEST(Races, SmallCopiesAreWaitedFor) {
  const std::string copy =
      "mad.wide.u32 %rd4, %r1, 4, %rd0;"
      "cp.async.ca.shared.global [%r3], [%rd4], 4; cp.async.commit_group;";
  EXPECT_EQ(races(copy + "cp.async.wait_group 0; ld.shared.u32 %r5, [%r3];"), "");
  EXPECT_NE(races(copy + "ld.shared.u32 %r5, [%r3];"), "");
  EXPECT_NE(races(copy + "cp.async.wait_group 1; ld.shared.u32 %r5, [%r3];"), "");
  EXPECT_NE(races(copy + "cp.async.wait_group 0; ld.shared.u32 %r5, [%r4];"), "");
}

// As cuda::pipeline does. Such an arrival is pending beside those that the mbarrier counts, and
// then the mbarrier was said not to be initialised.
TEST(Races, AnMbarrierWaitsForSmallCopies) {
  const auto copied = [](const std::string& arrives) {
    return races(R"(@%p1 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;
  mad.wide.u32 %rd4, %r1, 4, %rd0; cp.async.ca.shared.global [%r3], [%rd4], 4;
)" + arrives + R"(mbarrier.arrive.shared.b64 _, [bar];
W: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W; ld.shared.u32 %r5, [%r4];)");
  };
  EXPECT_EQ(copied("cp.async.mbarrier.arrive.shared.b64 [bar];"), "");
  EXPECT_THAT(copied(""), HasSubstr("race"));
}

/// Findings of two wgmma on the same accumulators, %f1 to %f4, with `between` behind the second
/// one's fence. The first wrote %f1 to %f4, and %f5 to %f8 hold copies of them.
std::string races_of_accumulators(const std::string& between) {
  const std::string multiply =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, %p1, "
      "1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
  PtxRun run;
  run.add(std::vector<std::uint32_t>(1024));
  run.shape.block = {128, 1, 1};
  run.run_body(R"(.shared .align 128 .b8 s[4096]; mov.u64 %rd1, 0; setp.eq.u32 %p1, 0, 1;
  mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
  wgmma.fence.sync.aligned;
)" + multiply + R"(
  mov.f32 %f5, %f1; mov.f32 %f6, %f2; mov.f32 %f7, %f3; mov.f32 %f8, %f4;
  wgmma.fence.sync.aligned;
)" + between + multiply +
               "add.f32 %f1, %f1, %f4; st.global.f32 [%rd0], %f1;");
  return run.findings();
}

// NVRTC renames accumulators by copies behind the fence. Products of e4m3 with two sets of partial
// sums were called racing for these.
TEST(Races, ACopyOfAnAccumulatorIsAsOldAsTheAccumulator) {
  const std::string race = "an accumulator was written, and no wgmma.fence came between";
  EXPECT_THAT(races_of_accumulators("mov.f32 %f1, %f5; mov.f32 %f4, %f8;"), Not(HasSubstr(race)));
  EXPECT_THAT(races_of_accumulators("add.f32 %f1, %f5, %f6;"), HasSubstr(race));
  EXPECT_THAT(races_of_accumulators("mov.f32 %f1, 0f00000000;"), HasSubstr(race));
  EXPECT_THAT(races_of_accumulators("add.f32 %f5, %f5, %f6; mov.f32 %f1, %f5;"), HasSubstr(race));
}

// Kernels that add up within a cluster run their epilogue once ahead of time, to fetch the
// instructions. The epilogue read values that other blocks send by st.async, and dropped the sums:
// a race was reported that no output can show.
TEST(Races, AValueThatNothingDependsOnIsNone) {
  const std::string read = "st.shared.u32 [%r3], %r1; ld.shared.u32 %r5, [%r4];";
  EXPECT_THAT(races(read), HasSubstr("race: reads byte"));
  EXPECT_EQ(races(read + "mul.lo.u32 %r7, %r5, 3; mov.u32 %r5, 0;"), "");
  EXPECT_NE(races(read + "mul.lo.u32 %r7, %r5, 3; mov.u32 %r5, %r7;"), "");
  // An address, a lane's value for another lane, and a branch around a store.
  EXPECT_NE(races(read + "and.b32 %r7, %r5, 7; cvt.u64.u32 %rd6, %r7; add.u64 %rd7, %rd0, %rd6;"
                         "st.global.u8 [%rd7], %r1; mov.u32 %r5, 0;"),
            "");
  EXPECT_NE(races(read + "shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;"), "");
  EXPECT_NE(races(read + "setp.eq.u32 %p3, %r5, 7; mov.u32 %r5, 0; @%p3 bra E;"
                         "st.global.u32 [%rd0], %r1; E:"),
            "");
  EXPECT_EQ(races(read + "setp.eq.u32 %p3, %r5, 7; mov.u32 %r5, 0; @%p3 bra E;"
                         "add.u32 %r7, %r7, 1; E:"),
            "");
  // Of what two ways through a branch leave in a register, nobody knows which way was right.
  const std::string branch = read +
                             "setp.eq.u32 %p3, %r5, 7; mov.u32 %r5, 0; @%p3 bra E;"
                             "add.u32 %r5, %r5, 1; ";
  EXPECT_NE(races(branch + "E:"), "");
  EXPECT_NE(races(branch + "bra F; E: mov.u32 %r5, 2; F:"), "");
  EXPECT_EQ(races(branch + "E: mov.u32 %r5, 0;"), "");
  // Lanes may meet ahead of the branch. What lies between was then taken for all of memory.
  EXPECT_EQ(races("bra X; M: mov.u32 %r5, 0; bra E; X: " + read +
                  "setp.eq.u32 %p3, %r5, 7; @%p3 bra Y; add.u32 %r7, %r7, 1; bra M;"
                  "Y: add.u32 %r7, %r7, 2; bra M; E:"),
            "");
  // A loop that waits for the value orders what comes behind it.
  EXPECT_NE(races(read + "L: ld.shared.u32 %r5, [%r4]; setp.gt.u32 %p3, %r5, 64; @%p3 bra L;"
                         "mov.u32 %r5, 0;"),
            "");
  // What was read ahead of the first write was no value.
  const std::string early = "ld.shared.u32 %r5, [%r4]; st.shared.u32 [%r3], %r1; mov.u32 %r5, 0;";
  EXPECT_EQ(races(early), "");
}

// st.async is of the generic proxy: it needs no proxy fence behind what threads wrote.
// A lane that gets the value by a shuffle is not the one that read too early.
TEST(Races, NameTheLaneThatReadAndNotWhoUsesTheValue) {
  int num_reads = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string text = races(
        "setp.eq.u32 %p3, %r1, 33; @%p3 st.shared.u32 [%r2], %r1; setp.eq.u32 %p3, %r1, 1;"
        "@%p3 ld.shared.u32 %r5, [%r2]; shfl.sync.idx.b32 %r5, %r5, 1, 31, -1;",
        seed, false);
    if (text.find("race: reads") == std::string::npos) continue;
    EXPECT_THAT(text, HasSubstr("thread (1,0,0): race: reads byte 0 of"));
    ++num_reads;
  }
  EXPECT_GT(num_reads, 0);
}

TEST(Races, StoresIntoABlockOfTheClusterNeedNoProxyFence) {
  EXPECT_EQ(races(R"(@%p1 mbarrier.init.shared.b64 [bar], 1; st.shared.u32 [%r3], 0; bar.sync 0;
  mov.u32 %r7, bar; @!%p1 bra W; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;
  mapa.shared::cluster.u32 %r8, %r3, 0; mapa.shared::cluster.u32 %r9, %r7, 0;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r8], %r1, [%r9];
W: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W; ld.shared.u32 %r5, [%r2];)"),
            "");
}

// Lanes of `gemv_bf16` that have no row read what nobody copied, and make no use of it. They get
// sums of such values from other lanes that have none either, and select something else.
TEST(Races, FindsUsesOfSharedMemoryThatNobodyWroteOnRequest) {
  const std::string read = "ld.shared.u32 %r5, [%r3];";
  EXPECT_THAT(races(read), HasSubstr("uninitialised: reads byte"));
  EXPECT_EQ(races(read, 1, false), "");
  EXPECT_EQ(races(read + "mov.u32 %r5, 0;"), "");
  EXPECT_THAT(races(read + "selp.b32 %r5, %r5, 0, %p1;"), Not(HasSubstr("thread (1,")));
  const std::string row =
      "mov.u32 %r5, 1; and.b32 %r7, %r1, 2; setp.eq.u32 %p3, %r7, 0;"
      "@%p3 ld.shared.u32 %r5, [%r3]; shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;";
  EXPECT_NE(races(row), "");
  EXPECT_EQ(races(row + "@%p3 bra E; st.global.u32 [%rd0], %r5; E: mov.u32 %r5, 0;"), "");
}

/// Findings of a body of 4 blocks of 32 threads. %r1 is the thread, %r2 the block, %p1 whether it
/// is thread 0, %p2 whether it is of block 0; %rd5 is the thread's word of one 32 that all blocks
/// share, %rd6 that of the block's own. %rd0 + 1024 is a word of its own. What is in %r5 in the end
/// is stored.
std::string global_races(const std::string& body) {
  PtxRun run;
  run.add(std::vector<std::uint32_t>(1024));
  run.add(std::vector<std::uint32_t>(1024));
  run.shape.grid = {4, 1, 1};
  run.shape.block = {32, 1, 1};
  run.options.max_instructions = 10'000'000;
  run.run_body(R"(.loc 1 5 1
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0;
  mad.wide.u32 %rd5, %r1, 4, %rd0; mad.wide.u32 %rd6, %r2, 128, %rd5; mov.u32 %r5, 0;
)" + body + R"(
  bar.sync 0; mad.lo.u32 %r9, %r2, 32, %r1; mad.wide.u32 %rd9, %r9, 4, %rd1;
  st.global.u32 [%rd9], %r5;
)",
               ".file 1 \"k.cu\"\n");
  return run.findings();
}

// A sum of blocks without atomics was found as a wrong output alone.
TEST(GlobalRaces, NameBothAccesses) {
  const std::string text = global_races(
      "add.u32 %r4, %r2, 1; ld.global.u32 %r6, [%rd5]; add.u32 %r6, %r6, %r4;"
      ".loc 1 6 1\nst.global.u32 [%rd5], %r6;");
  EXPECT_THAT(text,
              HasSubstr("kernel k, k.cu:5, block (1,0,0), thread (0,0,0): race: reads 4 bytes at "))
      << text;
  EXPECT_THAT(text, HasSubstr("st.global.u32 (line 6) of block (0,0,0), thread (0,0,0) wrote;"))
      << text;
  EXPECT_THAT(global_races("st.global.u32 [%rd5], %r2;"), HasSubstr("race: writes 4 bytes"));
}

TEST(GlobalRaces, AreNoneWithoutAnotherBlocksBytes) {
  EXPECT_EQ(global_races("ld.global.u32 %r6, [%rd6]; add.u32 %r6, %r6, 1;"
                         "st.global.u32 [%rd6], %r6; ld.global.u32 %r5, [%rd6];"),
            "");
  EXPECT_EQ(global_races("st.global.u32 [%rd5], 7; ld.global.u32 %r5, [%rd5];"), "");  // all alike
  EXPECT_EQ(global_races("red.global.add.u32 [%rd5], %r2;"), "");
  // Halves of a word.
  EXPECT_EQ(global_races("cvt.u16.u32 %h1, %r2; mad.wide.u32 %rd7, %r2, 2, %rd0;"
                         "st.global.u16 [%rd7], %h1; ld.global.u16 %h2, [%rd7]; "
                         "cvt.u32.u16 %r5, %h2;"),
            "");
  // What another block wrote is read and dropped.
  EXPECT_EQ(global_races("@%p2 st.global.u32 [%rd5], 7; ld.global.u32 %r6, [%rd5];"
                         "selp.b32 %r5, 1, 1, %p2;"),
            "");
  // A step of a sort in place: both of a pair read it, one of them writes it.
  EXPECT_EQ(
      global_races("xor.b32 %r3, %r2, 1; mad.wide.u32 %rd7, %r3, 128, %rd5;"
                   "ld.global.u32 %r6, [%rd6]; ld.global.u32 %r7, [%rd7];"
                   "setp.lt.u32 %p3, %r3, %r2; setp.lt.u32 %p4, %r7, %r6; or.pred %p3, %p3, %p4;"
                   "@%p3 bra E; add.u32 %r6, %r6, %r1; st.global.u32 [%rd6], %r7;"
                   "st.global.u32 [%rd7], %r6;\nE:"),
      "");
}

// Block 0 writes, and says so by a flag, in each of the ways that kernels have.
TEST(GlobalRaces, AreNoneBehindAFlag) {
  const auto handed_over = [](const std::string& says, const std::string& reads) {
    return global_races("@!%p2 bra W; st.global.u32 [%rd5], 7; bar.sync 0; @%p1 bra S; bra E;\nS:" +
                        says + "bra E;\nW: @!%p1 bra B;\nP:" + reads +
                        "setp.eq.u32 %p3, %r7, 0; @%p3 bra P;\nB: bar.sync 0;"
                        "ld.global.u32 %r5, [%rd5];\nE:");
  };
  EXPECT_EQ(handed_over("membar.gl; st.volatile.global.u32 [%rd0+1024], 1;",
                        "ld.volatile.global.u32 %r7, [%rd0+1024];"),
            "");
  EXPECT_EQ(
      handed_over("membar.gl; st.global.u32 [%rd0+1024], 1;", "ld.global.cg.u32 %r7, [%rd0+1024];"),
      "");
  EXPECT_EQ(handed_over("st.release.gpu.global.u32 [%rd0+1024], 1;",
                        "ld.acquire.gpu.global.u32 %r7, [%rd0+1024];"),
            "");
  EXPECT_EQ(handed_over("fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd0+1024], 1;",
                        "ld.relaxed.gpu.global.u32 %r7, [%rd0+1024]; fence.acq_rel.gpu;"),
            "");
  EXPECT_EQ(handed_over("fence.acq_rel.gpu; atom.global.add.u32 %r8, [%rd0+1024], 1;",
                        "atom.global.or.b32 %r7, [%rd0+1024], 0;"),
            "");
  EXPECT_THAT(handed_over("membar.gl; st.volatile.global.u32 [%rd0+1024], 1;", "mov.u32 %r7, 1;"),
              HasSubstr("race: reads 4 bytes"));
}

}  // namespace
}  // namespace assay::emulator
