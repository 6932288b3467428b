#include <random>

#include "base/error.h"
#include "run_ptx.h"

// PTX is input: whatever it says, loading and running it ends, with a result, findings or an error.

namespace assay::emulator {
namespace {

constexpr const char* kText = R"(.version 8.7
.target sm_90a
.address_size 64
.file 1 "x.cu"
.global .align 4 .u32 count = 3;
.const .align 8 .b8 table[16] = {1, 2, 3};
.func (.param .b32 back) twice(.param .b32 x) {
 .reg .b32 %r<3>;
 ld.param.u32 %r1, [x]; shl.b32 %r2, %r1, 1; st.param.b32 [back], %r2; ret;
}
.visible .entry k(.param .u64 p0, .param .u64 p1)
.maxntid 64, 1, 1
{
 .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<40>; .reg .pred %p<5>; .reg .b16 %h<4>;
 .shared .align 1024 .b8 tile[16384]; .shared .align 8 .b64 bar; .local .align 8 .b8 depot[32];
 .loc 1 4 1
 ld.param.u64 %rd0, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd0, %rd1;
 setp.ne.s32 %p1, %r1, 0; mov.u32 %r2, tile; mov.u32 %r3, bar;
 @!%p1 mbarrier.init.shared::cta.b64 [%r3], 64;
 bar.sync 0;
 mad.lo.s32 %r18, %r1, 8, %r2; st.shared.v2.u32 [%r18+8192], {%r1, %r2};
 mad.lo.s32 %r4, %r1, 4, %r2; cp.async.ca.shared.global [%r4], [%rd1], 4;
 cp.async.commit_group; cp.async.wait_group 0;
 mbarrier.arrive.shared::cta.b64 _, [%r3];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;
 ld.shared.u32 %r5, [%r4]; shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1; vote.sync.ballot.b32 %r7, %p1, -1;
 atom.global.add.u32 %r8, [count], 1; ld.const.u8 %r9, [table+1];
 st.local.u32 [depot+4], %r9; cvt.rn.f32.u32 %f1, %r5; fma.rn.f32 %f2, %f1, %f1, %f1;
 ex2.approx.ftz.f32 %f3, %f2; cvt.rn.bf16x2.f32 %r10, %f2, %f1; div.s32 %r11, %r5, %r1;
 ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r12, %r13}, [%r2];
 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7}, {%r12, %r13}, {%r10},
  {%f4, %f5, %f6, %f7};
 { .param .b32 a; .param .b32 b; st.param.b32 [a], %r5; call.uni (b), twice, (a);
   ld.param.b32 %r14, [b]; }
 and.b32 %r15, %r1, 1;
T: .branchtargets A, B;
 brx.idx %r15, T;
A: add.u32 %r14, %r14, 1;
B: wgmma.fence.sync.aligned;
 mov.b64 %rd5, 0x4000004000010040;
 add.u32 %r19, %r2, 12288; @!%p1 fence.proxy.async.shared::cta;
 @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r19], [%rd0], 16, [%r3];
 barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
 prmt.b32 %r16, %r14, %r1, 0x3210; selp.b32 %r17, %r16, %r14, %p1;
 st.global.u32 [%rd1], %r17;
 ret;
}
)";

/// Text with some of its words replaced, dropped, doubled or swapped, or characters changed.
std::string damaged(std::mt19937& random) {
  std::string text = kText;
  const auto pick = [&](std::size_t bound) { return random() % std::max<std::size_t>(bound, 1); };
  const std::size_t times = 1 + pick(4);
  for (std::size_t i = 0; i < times; ++i) {
    const std::size_t head = text.find(".func");
    const std::size_t at = pick(8) == 0 ? pick(text.size()) : head + pick(text.size() - head);
    const std::size_t length = std::min(pick(12), text.size() - at);
    const std::size_t from = pick(text.size()), count = std::min(pick(20), text.size() - from);
    switch (pick(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(from, count));
        break;
      case 2:
        text.replace(at, length, text.substr(from, count));
        break;
      case 3: {
        // A number for another.
        const std::size_t digit = text.find_first_of("0123456789", at);
        const char* const numbers[] = {
            "0", "-1", "16", "255", "4096", "4294967295", "9223372036854775807"};
        if (digit != std::string::npos) text.replace(digit, 1, numbers[pick(7)]);
        break;
      }
      default:
        text[at] = static_cast<char>(32 + pick(95));
        break;
    }
  }
  return text;
}

TEST(DamagedPtx, EndsWithAResultFindingsOrAnError) {
  int num_run = 0, num_refused = 0, num_ok = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const std::string text = seed == 0 ? kText : damaged(random);
    PtxRun run;
    run.add(std::vector<std::uint32_t>(64, 5));
    run.shape.block = {64, 1, 1};
    run.options.max_instructions = 200'000;
    try {
      run.run(text);
      ++num_run;
      num_ok += run.outcome.ok ? 1 : 0;
    } catch (const UsageError&) {
      ++num_refused;
    }
    if (seed == 0) {
      EXPECT_EQ(run.findings(), "");
    }
  }
  EXPECT_GT(num_run, 500);
  EXPECT_GT(num_refused, 500);
  EXPECT_GT(num_ok, 50);
}

}  // namespace
}  // namespace assay::emulator
