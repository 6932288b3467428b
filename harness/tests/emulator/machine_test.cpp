#include "emulator/machine.h"

#include <numeric>
#include <set>

#include "base/error.h"
#include "run_ptx.h"

namespace assay::emulator {
namespace {

using U = std::uint32_t;
using Words = std::vector<U>;

/// `%rd10` is the thread's place in buffer 0, %r1 the thread, %r2 its lane.
constexpr const char* kPlace =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid; mul.wide.u32 %rd10, %r1, 4; "
    "add.s64 %rd10, %rd0, %rd10;\n";

/// What 64 threads store, each its %r0.
Words threads(const std::string& body, const std::string& globals = "", std::uint64_t seed = 1) {
  PtxRun run;
  run.options.seed = seed;
  run.add(Words(64));
  run.shape.block = {64, 1, 1};
  run.options.max_instructions = 10'000'000;
  run.run_body(kPlace + body + "\nst.global.u32 [%rd10], %r0;", globals);
  EXPECT_TRUE(run.outcome.ok) << run.findings();
  return run.get<U>(0);
}

/// The findings of a body with 64 threads.
std::string found(const std::string& body, U num_threads = 64, const std::string& globals = "") {
  PtxRun run;
  run.add(Words(64));
  run.options.max_instructions = 1'000'000;
  run.shape.block = {num_threads, 1, 1};
  run.run_body(kPlace + body, globals);
  return run.findings();
}

TEST(LaunchShape, NumbersBlocksClusterByCluster) {
  const LaunchShape shape = {.grid = {4, 6, 2}, .cluster = {2, 3, 1}};
  EXPECT_EQ(shape.block_of(5), (Extents{1, 2, 0}));  // the last of the first cluster
  EXPECT_EQ(shape.block_of(6), (Extents{2, 0, 0}));
  EXPECT_EQ(shape.block_of(12), (Extents{0, 3, 0}));
  EXPECT_EQ(shape.block_of(47), (Extents{3, 5, 1}));
  std::set<Extents> blocks;
  for (std::uint64_t number = 0; number < 48; ++number) blocks.insert(shape.block_of(number));
  EXPECT_EQ(blocks.size(), 48u);
}

TEST(Machine, LanesThatPartedMeetAtThePostDominator) {
  // The number of active lanes behind a loop whose turns differ, and behind if and else.
  const Words got = threads(R"(
  mov.u32 %r3, 0; and.b32 %r4, %r1, 7;
LOOP: setp.ge.u32 %p1, %r3, %r4; @%p1 bra DONE;
  add.u32 %r3, %r3, 1; bra LOOP;
DONE: activemask.b32 %r5; and.b32 %r6, %r1, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra EVEN;
  add.u32 %r3, %r3, 100; bra JOIN;
EVEN: add.u32 %r3, %r3, 200;
JOIN: activemask.b32 %r6; popc.b32 %r5, %r5; popc.b32 %r6, %r6; add.u32 %r5, %r5, %r6;
  mad.lo.u32 %r0, %r5, 1000, %r3;)");
  for (U i = 0; i < 64; ++i) EXPECT_EQ(got[i], 64'000 + i % 8 + (i % 2 == 0 ? 200 : 100));
}

TEST(Machine, ALaneThatSpinsDoesNotKeepTheOthersOfItsWarp) {
  // Each lane takes a lock, counts and gives it back: it hangs where one side of a branch runs on.
  const std::string globals = ".global .align 4 .u32 lock; .global .align 4 .u32 count;";
  const Words got = threads(R"(
SPIN: atom.global.cas.b32 %r3, [lock], 0, 1; setp.ne.s32 %p1, %r3, 0; @%p1 bra SPIN;
  ld.global.u32 %r4, [count]; add.u32 %r4, %r4, 1; st.global.u32 [count], %r4;
  atom.global.exch.b32 %r5, [lock], 0;
  bar.sync 0; ld.global.u32 %r0, [count];)",
                            globals);
  EXPECT_EQ(got, Words(64, 64));
}

TEST(Machine, BlocksWaitForEachOther) {
  for (const int num_threads : {1, 3}) {
    PtxRun run;
    run.add(Words(1));
    run.shape.grid = {20, 1, 1};
    run.shape.block = {32, 1, 1};
    run.options.threads = num_threads;
    run.options.max_instructions = 100'000'000;
    run.run_body(R"(mov.u32 %r1, %tid.x; setp.ne.s32 %p1, %r1, 0; @%p1 bra END;
  atom.global.add.u32 %r2, [%rd0], 1;
WAIT: ld.volatile.global.u32 %r2, [%rd0]; setp.lt.u32 %p2, %r2, 20; @%p2 bra WAIT;
END:)");
    ASSERT_TRUE(run.outcome.ok) << run.findings();
    EXPECT_EQ(run.get<U>(0)[0], 20u);
  }
}

TEST(Machine, LanesExchangeValues) {
  EXPECT_EQ(threads("shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;")[4], 5u);
  EXPECT_EQ(threads("shfl.sync.down.b32 %r0|%p1, %r1, 3, 31, -1; @!%p1 mov.u32 %r0, 77;")[30], 77u);
  EXPECT_EQ(threads("shfl.sync.up.b32 %r0, %r1, 3, 0, -1;")[40], 37u);
  EXPECT_EQ(threads("shfl.sync.idx.b32 %r0, %r1, 5, 0x181f, -1;")[19], 21u);
  EXPECT_EQ(threads("setp.gt.u32 %p1, %r2, 29; vote.sync.ballot.b32 %r0, %p1, -1;")[2],
            0xc0000000u);
  EXPECT_EQ(threads("and.b32 %r3, %r2, 3; match.any.sync.b32 %r0, %r3, -1;")[5], 0x22222222u);
  EXPECT_EQ(threads("redux.sync.add.u32 %r0, %r2, -1;")[9], 496u);
  EXPECT_EQ(threads("neg.s32 %r3, %r2; redux.sync.min.s32 %r0, %r3, -1;")[9], static_cast<U>(-31));
  const Words elected = threads("elect.sync %r3|%p1, -1; selp.u32 %r0, 1, 0, %p1;");
  EXPECT_EQ(std::accumulate(elected.begin(), elected.end(), 0u), 2u);
}

TEST(Machine, LanesThatPartedMeetForTheMembersOfAnExchange) {
  const Words got = threads(R"(setp.lt.u32 %p1, %r2, 16; @%p1 bra LOW;
  mov.u32 %r3, 7; bar.warp.sync -1; bra JOIN;
LOW: mov.u32 %r3, 9; shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xffff; bar.warp.sync -1;
JOIN: mov.u32 %r0, %r3;)");
  EXPECT_EQ(got[3], 2u);
  EXPECT_EQ(got[20], 7u);
}

TEST(Machine, ThreadsMeetAtBarriers) {
  // Each reads what the mirrored thread wrote.
  const std::string shared = R"(.shared .align 4 .b32 s[64];
  mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %r1;
  bar.sync 0;
  sub.u32 %r6, 63, %r1; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r3; ld.shared.u32 %r0, [%r6];)";
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Words got = threads(shared, "", seed);
    for (U i = 0; i < 64; ++i) ASSERT_EQ(got[i], 63 - i);
  }
  EXPECT_EQ(threads("setp.gt.u32 %p1, %r1, 40; bar.red.popc.u32 %r0, 0, %p1;")[3], 23u);
  EXPECT_EQ(threads("setp.gt.u32 %p1, %r1, 40; bar.red.or.pred %p2, 0, %p1;"
                    "selp.u32 %r0, 5, 6, %p2;")[3],
            5u);
  // Half of the block waits for the other, which does not.
  EXPECT_EQ(threads(R"(.shared .align 4 .b32 s[1]; setp.lt.u32 %p1, %r1, 32; @%p1 bra FIRST;
  bar.sync 3, 64; ld.shared.u32 %r0, [s]; bra JOIN;
FIRST: mov.u32 %r0, 42; st.shared.u32 [s], %r0; bar.arrive 3, 64;
JOIN:)")[50],
            42u);
  // Threads that have ended are not waited for.
  EXPECT_EQ(threads("setp.gt.u32 %p1, %r1, 7; @%p1 exit; bar.sync 0; mov.u32 %r0, 3;")[7], 3u);
}

TEST(Machine, SpacesHaveGenericAddresses) {
  EXPECT_EQ(threads(R"(.shared .align 4 .b32 s[64]; .local .align 4 .b8 depot[16];
  mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd4, %rd4, %rd5;
  st.u32 [%rd4], %r1; ld.u32 %r3, [%rd4];
  mov.u64 %rd6, depot; cvta.local.u64 %rd7, %rd6; add.u32 %r4, %r1, 1000; st.u32 [%rd7+4], %r4;
  ld.local.u32 %r5, [depot+4]; add.u32 %r0, %r3, %r5;
  isspacep.shared %p1, %rd4; isspacep.local %p2, %rd7; isspacep.global %p3, %rd0;
  and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3; @!%p1 mov.u32 %r0, 0;)")[9],
            1018u);
}

TEST(Machine, AtomicsOfAllKinds) {
  const std::string globals = R"(.global .align 4 .u32 a = 5; .global .align 4 .s32 b = -7;
.global .align 8 .u64 c; .global .align 4 .f32 d = 0f3F800000; .global .align 16 .f32 e[4];
.global .align 4 .u32 h = 3;)";
  const Words got = threads(R"(
  red.global.add.u32 [a], 2; red.global.max.s32 [b], %r1; mov.u64 %rd4, 3;
  atom.global.add.u64 %rd5, [c], %rd4; mov.f32 %f1, 0f40000000; red.global.add.f32 [d], %f1;
  red.global.add.v4.f32 [e], {%f1, %f1, %f1, %f1}; atom.global.inc.u32 %r9, [h], 9;
  bar.sync 0;
  ld.global.u32 %r3, [a]; ld.global.u32 %r4, [b]; ld.global.u32 %r5, [c]; ld.global.f32 %f2, [d];
  ld.global.f32 %f3, [e+8]; add.f32 %f2, %f2, %f3; cvt.rzi.u32.f32 %r6, %f2;
  ld.global.u32 %r7, [h];
  add.u32 %r0, %r3, %r4; add.u32 %r0, %r0, %r5; add.u32 %r0, %r0, %r6; mad.lo.u32 %r0, %r7, 10000, %r0;)",
                            globals);
  EXPECT_EQ(got[0], 133u + 63 + 192 + 129 + 128 + (3 + 64) % 10 * 10000);
}

TEST(Machine, CallsFunctions) {
  const std::string globals = R"(
.func (.param .b32 result) scale(.param .b32 x, .param .align 4 .b8 pair[8]) {
  .reg .b32 %r<5>; .reg .pred %p; .shared .align 4 .b32 unused[4];
  ld.param.u32 %r1, [x]; ld.param.u32 %r2, [pair+4]; setp.gt.u32 %p, %r1, 10; @%p bra BIG;
  mul.lo.u32 %r3, %r1, %r2; st.param.b32 [result], %r3; ret;
BIG: st.param.b32 [result], %r1; ret;
})";
  const Words got = threads(R"(mov.u32 %r4, 3;
{ .param .b32 a; .param .align 4 .b8 b[8]; .param .b32 back; st.param.b32 [a], %r1;
  st.param.b32 [b+4], %r4; call.uni (back), scale, (a, b); ld.param.b32 %r0, [back]; }
activemask.b32 %r5; popc.b32 %r5, %r5; mad.lo.u32 %r0, %r5, 1000, %r0;)",
                            globals);
  EXPECT_EQ(got[5], 32'015u);
  EXPECT_EQ(got[12], 32'012u);
}

TEST(Machine, JumpsByATable) {
  const Words got = threads(R"(and.b32 %r3, %r1, 3; 
T: .branchtargets A, B, C, A;
  brx.idx %r3, T;
A: mov.u32 %r0, 1; bra END;
B: mov.u32 %r0, 2; bra END;
C: mov.u32 %r0, 3;
END: activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r0, %r4, 10, %r0;)");
  EXPECT_EQ(got[0], 321u);
  EXPECT_EQ(got[1], 322u);
  EXPECT_EQ(got[2], 323u);
  EXPECT_EQ(got[3], 321u);
}

TEST(Machine, ClustersShareTheirMemory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    PtxRun run;
    run.options.seed = seed;
    run.add(Words(8));
    run.shape.grid = {8, 1, 1};
    run.shape.cluster = {4, 1, 1};
    // Each block writes into the next one's memory, and counts at its mbarrier.
    run.run_body(R"(.shared .align 8 .b64 bar; .shared .align 4 .b32 s;
  mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %ctaid.x; mov.u32 %r3, bar; mov.u32 %r4, s;
  mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
  add.u32 %r5, %r1, 1; and.b32 %r5, %r5, 3;
  mapa.shared::cluster.u32 %r6, %r4, %r5; mapa.shared::cluster.u32 %r7, %r3, %r5;
  st.shared::cluster.u32 [%r6], %r2;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0; @!%p1 bra W;
  ld.shared.u32 %r8, [s]; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd4, %rd4, %rd0;
  st.global.u32 [%rd4], %r8;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)");
    ASSERT_TRUE(run.outcome.ok) << run.findings();
    EXPECT_EQ(run.get<U>(0), (Words{3, 0, 1, 2, 7, 4, 5, 6}));
  }
}

TEST(Machine, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(
      found("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 32;"),
      HasSubstr("unsupported: emulator/unsupported: tcgen05.alloc.cta_group::1.sync.aligned.b32"));
  EXPECT_THAT(found("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, "
                    "{%fd0, %fd1};"),
              HasSubstr("emulator/unsupported: mma.sync"));
  // Behind a branch that is not taken it is no matter.
  EXPECT_EQ(found("setp.gt.u32 %p1, %r1, 99; @!%p1 bra END; foo.bar.u32 %r1, %r2; END:"), "");
}

TEST(Machine, FindsAccessesWhereNoMemoryIs) {
  EXPECT_THAT(found("ld.global.u32 %r3, [%rd10+4];"), HasSubstr("out of bounds: reads 4 bytes"));
  EXPECT_THAT(found("ld.global.u32 %r3, [%rd10+4];"), HasSubstr("thread (63,0,0)"));
  EXPECT_THAT(found("ld.global.u32 %r3, [%rd10+2];"), HasSubstr("misaligned"));
  // Through an ordinary pointer a GPU writes constants, too. A kernel that kept its result there
  // was refused as if it had written where no memory is.
  EXPECT_EQ(found("st.global.u32 [x], %r1;", 64, ".const .align 4 .u32 x = 1;"), "");
  EXPECT_THAT(found(".shared .align 4 .b8 s[16]; st.shared.u32 [s+16], %r1;"),
              HasSubstr("writes 4 bytes at byte 16 of shared memory, which has 16 bytes"));
  EXPECT_THAT(found("mov.u32 %r3, 0; ld.shared.u32 %r4, [%r3];"),
              HasSubstr("address 0x0 of shared memory"));
  EXPECT_THAT(found("mov.u64 %rd4, 0; ld.u32 %r4, [%rd4];"), HasSubstr("reads 4 bytes at 0x0"));
}

// Each turn of such a loop was one more of the same finding, for minutes.
TEST(Machine, EndsALoopThatPollsWhereNoMemoryIs) {
  EXPECT_THAT(found("mov.u64 %rd4, 0; mov.u32 %r4, 0; LOOP: ld.u32 %r4, [%rd4]; "
                    "setp.ne.u32 %p1, %r4, 99; @%p1 bra LOOP;"),
              HasSubstr("reads 4 bytes at 0x0"));
}

TEST(Machine, FindsDeadlocks) {
  EXPECT_THAT(found("bar.sync 1, 96;"), HasSubstr("barrier 1 of 96 threads; expected"));
  EXPECT_THAT(
      found("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1; bra B; A: bar.sync 2; B:"),
      HasSubstr("deadlock: block 0 warp 0 waits at barrier 2; block 0 warp 1 waits at barrier 1"));
  const std::string never = found(R"(.shared .align 8 .b64 b; setp.ne.u32 %p1, %r1, 0; 
  @!%p1 mbarrier.init.shared.b64 [b], 2; bar.sync 0;
  @!%p1 mbarrier.arrive.shared.b64 _, [b];
W: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0; @!%p2 bra W;)");
  EXPECT_THAT(never, HasSubstr("waits for phase 0 of the mbarrier at 0x400")) << never;
  EXPECT_THAT(found("W: bra W;"), HasSubstr("limit: more than 1000000 instructions"));
  // One lane takes so long for as many instructions that a loop was killed after ten minutes,
  // without a line.
  PtxRun alone;
  alone.add(Words(1));
  alone.options.max_seconds = 0.05;
  alone.run_body("W: bra W;");
  EXPECT_THAT(alone.findings(), HasSubstr("limit: more than 0.05 s"));
  EXPECT_THAT(found("setp.lt.u32 %p1, %r2, 9; @%p1 bar.warp.sync -1; setp.lt.u32 %p1, %r2, 5;"
                    "@%p1 bra A; bar.warp.sync 0x3; A:"),
              HasSubstr("waits for lanes"));
}

TEST(Machine, FindsTrapsAndFailedAssertions) {
  EXPECT_THAT(found("setp.eq.u32 %p1, %r1, 33; @%p1 trap;"), HasSubstr("thread (33,0,0): trap"));
}

TEST(Machine, RefusesImpossibleLaunches) {
  const Module module =
      load(".version 8.0\n.target sm_90a\n.entry k(.param .u64 a) .maxntid 64 {ret;}");
  const Memory memory;
  const std::vector<std::byte> parameters(8);
  EXPECT_THROW(run(module, "l", {}, parameters, memory), UsageError);
  EXPECT_THROW(run(module, "k", {{1, 1, 1}, {65, 1, 1}}, parameters, memory), UsageError);
  EXPECT_THROW(run(module, "k", {{3, 1, 1}, {1, 1, 1}, {2, 1, 1}}, parameters, memory), UsageError);
  EXPECT_THROW(run(module, "k", {}, {}, memory), UsageError);
  EXPECT_TRUE(run(module, "k", {}, parameters, memory).ok);
}

}  // namespace
}  // namespace assay::emulator
