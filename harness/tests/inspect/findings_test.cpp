#include "inspect/findings.h"

#include "inspect/example_code.h"
#include "inspect/occupancy.h"
#include "inspect/registers.h"

#include "matchers.h"

namespace assay {
namespace {

std::vector<std::string> texts_of(const std::string& body, const std::string& name) {
  std::vector<std::string> texts;
  for (const CodeFinding& finding : find_motifs(ptx_function(body), InstructionSet::ptx)) {
    if (finding.name == name) texts.push_back(finding.text);
  }
  return texts;
}

std::string access_by_thread(const std::string& shift, const std::string& access) {
  return "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, " + shift +
         ";\ncvt.u64.u32 %rd1, %r2;\nadd.s64 %rd2, %rd3, %rd1;\n" + access + "\nret;";
}

TEST(Findings, SeeStridesThatWasteBandwidth) {
  const std::string global = "ld.global.f32 %f1, [%rd2+16];";
  EXPECT_THAT(texts_of(access_by_thread("2", global), "strided access"), IsEmpty());
  EXPECT_THAT(texts_of(access_by_thread("7", global), "strided access"),
              ElementsAre(HasSubstr("128 bytes apart and take 4 each")));
  // What one thread leaves, another access takes.
  const std::string four =
      "ld.global.f32 %f1, [%rd2];\nld.global.f32 %f2, [%rd2+4];\n"
      "ld.global.f32 %f3, [%rd2+-4];\nld.global.f32 %f4, [%rd2+8];";
  EXPECT_THAT(texts_of(access_by_thread("4", four), "strided access"), IsEmpty());
  EXPECT_THAT(texts_of(access_by_thread("4", four), "narrow accesses"),
              ElementsAre(HasSubstr("16 bytes apart and take all of them, 4 at a time")));
  EXPECT_THAT(texts_of(access_by_thread("5", four), "strided access"),
              ElementsAre(HasSubstr("32 bytes apart")));
  // Blocks of a size that is known only when they run.
  EXPECT_THAT(texts_of("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
                       "mov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\n"
                       "mul.wide.s32 %rd1, %r4, 32;\nadd.s64 %rd2, %rd3, %rd1;\n" +
                           global + "\nret;",
                       "strided access"),
              ElementsAre(HasSubstr("32 bytes apart and take 4 each")));
  // Rows of a length that is known only when they run; one that is taken twice may be no stride.
  const std::string rows =
      "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [k_param_0];\n"
      "mad.lo.s32 %r3, %r1, %r2, 5;\nmul.wide.s32 %rd1, %r3, 4;\n";
  EXPECT_THAT(texts_of(rows + "add.s64 %rd2, %rd3, %rd1;\n" + global + "\nret;", "strided access"),
              ElementsAre(HasSubstr("apart by a number that is not known when compiling")));
  EXPECT_THAT(texts_of(rows + "sub.s64 %rd2, %rd1, %rd1;\n" + global + "\nret;", "strided access"),
              IsEmpty());
  // What a thread's number is not in may have any stride.
  EXPECT_THAT(texts_of("ld.global.f32 %f1, [%rd2+16];\nret;", "strided access"), IsEmpty());
}

TEST(Findings, SeeBankConflicts) {
  const std::pair<const char*, int> kCases[] = {{"2", 1}, {"3", 2}, {"4", 4}, {"7", 32}};
  for (const auto& [shift, ways] : kCases) {
    const auto conflicts =
        texts_of(access_by_thread(shift, "st.shared.f32 [%rd2], %f1;"), "bank conflicts");
    if (ways == 1) {
      EXPECT_THAT(conflicts, IsEmpty()) << shift;
    } else {
      EXPECT_THAT(conflicts, ElementsAre(HasSubstr(std::to_string(ways) + " of them meet")))
          << shift;
    }
  }
  // 16 bytes a thread, side by side, are served in four turns of eight threads.
  EXPECT_THAT(texts_of(access_by_thread("4", "st.shared.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};"),
                       "bank conflicts"),
              IsEmpty());
}

TEST(Findings, SeeLoadsThatWaitForLoads) {
  const std::string body = R"(
	ld.global.u64 %rd2, [%rd1];
	add.s64 %rd3, %rd2, 8;
	ld.global.u64 %rd4, [%rd3];
	ld.global.f32 %f1, [%rd4];
	ret;)";
  EXPECT_THAT(texts_of(body, "dependent loads"), ElementsAre(HasSubstr("3 loads in a row")));
  // A list that is followed: each turn waits for the one before. A sum of loads is none.
  EXPECT_THAT(texts_of(R"(
$L:
	mul.wide.s32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.u32 %r1, [%rd4];
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, 1000;
	@%p1 bra $L;
	ret;)",
                       "dependent loads"),
              ElementsAre(HasSubstr("wait for those of the turn before")));
  EXPECT_THAT(texts_of(R"(
$L:
	ld.global.f32 %f1, [%rd1];
	add.f32 %f2, %f2, %f1;
	add.s64 %rd1, %rd1, 4;
	setp.lt.s64 %p1, %rd1, 1000;
	@%p1 bra $L;
	ret;)",
                       "dependent loads"),
              IsEmpty());
}

// A turn jumps over the first access where a condition fails; the second is under a predicate; a
// loop within it waits.
constexpr char kTail[] = R"(
$L_loop:
	setp.lt.s32 %p1, %r1, %r2;
	@!%p1 bra $L_next;
	ld.global.f32 %f1, [%rd1];
$L_next:
	@%p2 st.global.f32 [%rd2], %f1;
	ld.global.f32 %f2, [%rd3];
$L_wait:
	ld.shared.u32 %r4, [%r5];
	@%p4 bra $L_wait;
	@%p3 bra $L_loop;
	ret;)";

TEST(Findings, SeeWhatATurnMayJumpOver) {
  const Function function = ptx_function(kTail);
  const Loop* loop = main_loop(function);
  ASSERT_NE(loop, nullptr);
  std::string not_always;
  for (const int index : loop->blocks) {
    const Block& block = function.blocks[static_cast<std::size_t>(index)];
    if (!loop->has_always(index)) not_always += block.instructions.front().opcode;
  }
  EXPECT_EQ(not_always, "ld.global.f32");
  EXPECT_THAT(texts_of(kTail, "conditional accesses"),
              ElementsAre("of 4 accesses to memory a turn of the main loop 1 are under a predicate "
                          "and 1 may be skipped"));
  EXPECT_THAT(texts_of(kNested, "conditional accesses"), IsEmpty());
}

TEST(Findings, SeeConversionsThereAndBack) {
  const std::string body = R"(
	cvt.rn.bf16.f32 %rs1, %f1;
	cvt.f32.bf16 %f2, %rs1;
	cvt.rn.bf16.f32 %rs2, %f3;
	ret;)";
  EXPECT_THAT(texts_of(body, "conversions"), ElementsAre(HasSubstr("1 values")));
}

TEST(Findings, SeeHowProductsAreFed) {
  const std::string body = R"(
$L_loop:
	wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 1;
	@%p1 bra $L_loop;
	wgmma.wait_group.sync.aligned 0;
	ret;)";
  EXPECT_THAT(texts_of(body, "products"),
              ElementsAre("1 wgmma a turn of the main loop; waits until the groups in flight are "
                          "at most 1"));
}

TEST(Findings, CountConstants) {
  const Function function = ptx_function(
      "mul.f32 %f1, %f2, 0f3F800000;\nmul.f32 %f1, %f1, 0f3F800000;\nmov.f64 %fd1, "
      "0d4000000000000000;\nadd.s32 %r1, %r1, 4096;\nadd.s32 %r1, %r1, 4;\nret;");
  const std::vector<Constant> constants = find_constants(function, InstructionSet::ptx);
  ASSERT_THAT(constants, SizeIs(3));
  EXPECT_EQ(constants[0].text, "1.0");
  EXPECT_EQ(constants[0].count, 2);
  EXPECT_EQ(constants[1].text, "2.0");
  EXPECT_EQ(constants[2].text, "0x1000");
}

TEST(LiveRegisters, CountWhatIsStillNeeded) {
  const Function function = ptx_function(R"(
	mov.u64 %rd1, 0;
	mov.u32 %r1, 0;
	mov.f32 %f9, 0f00000000;
$L_loop:
	ld.global.f32 %f1, [%rd1];
	add.f32 %f2, %f1, %f9;
	add.s32 %r1, %r1, 1;
	setp.lt.s32 %p1, %r1, 10;
	@%p1 bra $L_loop;
	st.global.f32 [%rd1], %f2;
	ret;)");
  // The address (two), the counter, %f9 and, after the load, %f1.
  EXPECT_EQ(live_registers(function, function.loops.at(0), InstructionSet::ptx).ordinary, 5);
}

// What the disassembler prints with --life-range-mode count: a number a column, and none for 0.
TEST(LiveRegisters, AreThoseThatTheDisassemblerCounts) {
  const std::string ranges = R"(	.target	sm_90
.text.other:
        /*0020*/                   EXIT ;                        // | 99 |     | 99 |
.text.k:                                                         // |      |      |      |
                                                                 // +------+------+------+
                                                                 // | GPR  | PRED | UGPR |
        /*0000*/                   LDC R1, c[0x0][0x28] ;        // |  200 |    1 |      |
.L_x_0:                                                          // |   12 |      |      |
        /*0020*/                   LDG.E.128 R4, desc[UR4][R2.64] ; // | 12 | 1 | 4 |
        /*0030*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ; // | 130 | | 6 |
        /*0040*/                   FFMA R4, R4, 2.5, R5 ;        // | 14 v :  x | 1 ^ | 2 |
        /*0050*/              @!P0 BRA `(.L_x_0) ;               // |  3 |      |      |
        /*0070*/               @P1 STL [R1], R4 ;                // | 170 |     |      |
)";
  const Function joined = read_sass(kSass, "k.sass", ranges).functions.at(0);
  LiveRegisters live = live_registers(joined, joined.loops.at(0), InstructionSet::sass);
  EXPECT_EQ(live.ordinary, 130);
  EXPECT_EQ(live.uniform, 6);
  // It knows how wide an operand is; where it has not said so nobody guesses.
  const Function lone = sass_function(kSass);
  live = live_registers(lone, lone.loops.at(0), InstructionSet::sass);
  EXPECT_EQ(live.ordinary, 0);
  // The same text on its own.
  const Code code = read_sass(ranges, "k.sass");
  ASSERT_THAT(code.functions, SizeIs(2));
  EXPECT_EQ(code.functions[1].blocks.at(0).instructions.at(0).live, 200);
  EXPECT_EQ(code.functions[1].loops.size(), 1u);
}

TEST(Occupancy, IsWhatTheTightestLimitAllows) {
  // An SM of cc 9.0 has 65536 registers, 228 KiB of shared memory, 2048 threads, 32 blocks.
  const auto check = [](std::int64_t threads, int registers, std::int64_t smem_bytes, int blocks,
                        const char* limit) {
    const auto occupancy = occupancy_of(90, threads, registers, smem_bytes);
    ASSERT_TRUE(occupancy);
    EXPECT_EQ(occupancy->blocks, blocks);
    EXPECT_EQ(occupancy->limit, limit);
  };
  check(256, 32, 0, 8, "registers");  // as many as threads allow; registers stand first
  check(256, 40, 0, 6, "registers");
  check(384, 168, 200 << 10, 1, "registers");
  check(128, 32, 112 << 10, 2, "shared memory");
  check(1024, 16, 0, 2, "threads");
  check(32, 24, 0, 32, "blocks");
  check(512, 255, 0, 0, "registers");  // it cannot be launched
  EXPECT_FALSE(occupancy_of(35, 256, 32, 0));
}

TEST(Findings, CountsAtomicsInAllOfTheFunction) {
  const std::string body = R"(
	atom.shared.add.u32 %r1, [%rd1], 1;
$L_loop:
	red.global.add.f32 [%rd2], %f1;
	setp.lt.s32 %p1, %r1, 100;
	@%p1 bra $L_loop;
	ret;)";
  EXPECT_THAT(texts_of(body, "atomics"), ElementsAre("1 on global memory, 1 on shared memory"));
}

TEST(Findings, FindsTheCopiesOfWarpsThatDoNothingElse) {
  const std::string body = R"(
$L_copy:
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
	@%p1 bra $L_copy;
$L_loop:
	fma.rn.f32 %f1, %f1, %f2, %f3;
	@%p2 bra $L_loop;
	ret;)";
  EXPECT_THAT(texts_of(body, "copies"), ElementsAre("1 TMA copies outside the main loop"));
}

}  // namespace
}  // namespace assay
