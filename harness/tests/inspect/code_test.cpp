#include "inspect/code.h"

#include "base/error.h"
#include "inspect/example_code.h"
#include "inspect/findings.h"
#include "message_of.h"

#include "matchers.h"

namespace assay {
namespace {

using Kind = InstructionClass;

double count(const Function& function, Kind kind) {
  return count_classes(function)[static_cast<std::size_t>(kind)];
}

TEST(Ptx, KeepsQualifiersWithTwoColons) {
  // A statement that begins with one was once read as a label and an instruction without a name.
  const Function function = ptx_function(R"(
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
$L_next:
	ret;)");
  ASSERT_THAT(function.blocks, SizeIs(2));
  ASSERT_THAT(function.blocks[0].instructions, SizeIs(1));
  EXPECT_EQ(function.blocks[0].instructions[0].opcode,
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes");
  EXPECT_EQ(count(function, Kind::copy), 1);
}

TEST(Ptx, HasBlocksLoopsAndLines) {
  const Code code = read_ptx(kernel_of(kNested), "k.ptx");
  EXPECT_EQ(code.target, "sm_90a");
  ASSERT_THAT(code.functions, SizeIs(1));
  const Function& function = code.functions[0];
  EXPECT_EQ(function.name, "k");
  EXPECT_TRUE(function.is_kernel);
  ASSERT_THAT(function.loops, SizeIs(2));
  const Loop& outer = function.loops[0];
  const Loop& inner = function.loops[1];
  EXPECT_EQ(outer.depth, 1);
  EXPECT_EQ(inner.depth, 2);
  EXPECT_EQ(inner.parent, 0);
  EXPECT_EQ(main_loop(function), &inner);
  const Instruction& fma = function.blocks[static_cast<std::size_t>(inner.header)].instructions[0];
  EXPECT_EQ(fma.opcode, "fma.rn.f32");
  EXPECT_THAT(fma.operands, ElementsAre("%f1", "%f1", "0f40200000", "%f2"));
  EXPECT_EQ(fma.source.line, 7);
  EXPECT_EQ(code.files.at(static_cast<std::size_t>(fma.source.file)), "/a/k.cu");
  // Counted ten times for each of two loops.
  EXPECT_EQ(count_classes(function, 10)[static_cast<std::size_t>(Kind::fma)], 100);
  EXPECT_EQ(count(function, Kind::global_128), 1);
  EXPECT_EQ(count(function, Kind::global_8), 1);
}

TEST(Ptx, KnowsWhatAnInstructionKeepsBusy) {
  const std::pair<const char*, Kind> kCases[] = {
      {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", Kind::tensor},
      {"wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", Kind::tensor},
      {"cvt.rn.satfinite.e4m3x2.f32", Kind::conversion},
      {"wgmma.wait_group.sync.aligned", Kind::barrier},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", Kind::tensor},
      {"tcgen05.mma.cta_group::1.kind::f16", Kind::tensor},
      {"fma.rn.f16x2", Kind::fma},
      {"mad.lo.s32", Kind::integer},
      {"mad.rn.f32", Kind::fma},
      {"ex2.approx.ftz.f32", Kind::other_float},
      {"setp.gt.f32", Kind::other_float},
      {"add.s64", Kind::integer},
      {"cvt.rn.bf16x2.f32", Kind::conversion},
      {"cvta.to.global.u64", Kind::integer},
      {"mov.b32", Kind::move},
      {"ld.global.nc.L1::no_allocate.v4.u32", Kind::global_128},
      {"ld.global.v2.f32", Kind::global_64},
      {"st.global.b16", Kind::global_16},
      {"atom.global.add.f32", Kind::global_32},
      {"ld.shared::cta.u32", Kind::shared},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", Kind::shared},
      {"ld.param.u64", Kind::constant},
      {"ld.local.u32", Kind::local},
      {"ld.u32", Kind::generic},
      {"cp.async.cg.shared.global", Kind::copy},
      {"cp.async.wait_group", Kind::barrier},
      {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier", Kind::copy},
      {"cp.async.bulk.commit_group", Kind::barrier},
      {"mbarrier.try_wait.parity.shared::cta.b64", Kind::barrier},
      {"bar.sync", Kind::barrier},
      {"bra.uni", Kind::branch},
  };
  for (const auto& [opcode, kind] : kCases) EXPECT_EQ(class_of_ptx(opcode), kind) << opcode;
}

TEST(Ptx, FollowsAJumpByATable) {
  const Function function = ptx_function(R"(
	$L_table: .branchtargets $L_a, $L_b;
	brx.idx %r1, $L_table;
$L_a:
	ret;
$L_b:
	mov.b32 %r1, %r2;
	bra $L_a;)");
  ASSERT_FALSE(function.blocks.empty());
  EXPECT_THAT(function.blocks[0].next, ElementsAre(1, 2));
  EXPECT_THAT(function.loops, IsEmpty());
}

TEST(Ptx, RefusesWhatIsNone) {
  const auto mistake = [](const std::string& text) -> std::string {
    return message_of<UsageError>([&] { read_ptx(text, "x.ptx"); });
  };
  EXPECT_THAT(mistake(""), HasSubstr("x.ptx:1: no .version"));
  EXPECT_THAT(mistake("int main() {}"), HasSubstr("expected a directive such as .version"));
  EXPECT_THAT(mistake(".version 9.0\n.entry k() {\n mov.b32 %r1"),
              HasSubstr("x.ptx:3: the file ends within a statement"));
  EXPECT_THAT(mistake(".version 9.0\n.entry k() {\n"), HasSubstr("the file ends within k"));
  std::string blocks;
  for (int i = 0; i < 10'001; ++i) blocks += "ret;\n";
  EXPECT_THAT(mistake(kernel_of(blocks)), HasSubstr("k has more than 10000 basic blocks"));
}

TEST(Sass, HasBlocksLoopsAndLines) {
  const Code code = read_sass(kSass, "k.sass");
  EXPECT_EQ(code.target, "sm_90");
  ASSERT_THAT(code.functions, SizeIs(1));
  const Function& function = code.functions[0];
  EXPECT_EQ(function.num_instructions(), 10u);
  // What stands behind the end jumps to itself, and nothing reaches it.
  ASSERT_THAT(function.loops, SizeIs(1));
  const Block& body = function.blocks[static_cast<std::size_t>(function.loops[0].header)];
  EXPECT_EQ(body.label, ".L_x_0");
  EXPECT_EQ(body.instructions[0].source.line, 9);
  EXPECT_EQ(code.files.at(static_cast<std::size_t>(body.instructions[0].source.file)), "/a/k.cuh");
  EXPECT_EQ(body.instructions.back().predicate, "!P0");
  EXPECT_EQ(count(function, Kind::tensor), 1);
  EXPECT_EQ(count(function, Kind::global_128), 1);
  EXPECT_EQ(count(function, Kind::local), 1);
  EXPECT_EQ(count(function, Kind::constant), 1);
}

// cuobjdump names no labels, only addresses, and writes the encoding behind each instruction.
TEST(Sass, FollowsACallToWhatStandsBehindTheKernel) {
  const Function function = sass_function(R"(	.target	sm_90a
.text.k:
        /*0000*/                   CALL.REL.NOINC `($__internal_0_$divide) ;
        /*0010*/                   EXIT ;
$__internal_0_$divide:
.L_x_4:
        /*0020*/                   IADD3 R4, R4, -0x1, RZ ;
        /*0030*/               @P0 BRA `(.L_x_4) ;
        /*0040*/                   RET.REL.NODEC R2 `(k) ;
.L_x_5:
        /*0050*/                   BRA `(.L_x_5);
        /*0060*/                   NOP;
        /*0070*/                   NOP;
)");
  ASSERT_THAT(function.loops, SizeIs(1));
  EXPECT_EQ(count(function, Kind::other), 0);  // what fills up the end is no code
}

TEST(Sass, ClassesWhatOnlyLooksLikeArithmetic) {
  EXPECT_EQ(class_of_sass("QGMMA.64x256x32.F32.E4M3.E4M3"), Kind::tensor);
  EXPECT_EQ(class_of_sass("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C"), Kind::conversion);
  EXPECT_EQ(class_of_sass("IMAD.WIDE.U32"), Kind::integer);
  EXPECT_EQ(class_of_sass("IMAD.MOV.U32"), Kind::move);
  EXPECT_EQ(class_of_sass("UIADD3"), Kind::integer);
  EXPECT_EQ(class_of_sass("UFLO.U32"), Kind::integer);
  EXPECT_EQ(class_of_sass("CCTL.IVALL"), Kind::barrier);
  EXPECT_EQ(class_of_sass("LDGSTS.E.BYPASS.128"), Kind::copy);
  // Of a name that is not known nothing is said.
  EXPECT_EQ(class_of_sass("FROBNICATE"), Kind::other);
  const Function function = sass_function(R"(	.target	sm_90a
.text.k:
        /*0000*/                   HFMA2.MMA R5, -RZ, RZ, 0, 0 ;
        /*0010*/                   HFMA2.MMA R6, R7, R8, R9 ;
        /*0020*/                   EXIT ;
)");
  EXPECT_EQ(count(function, Kind::move), 1);
  EXPECT_EQ(count(function, Kind::fma), 1);
}

TEST(Sass, TellsTheLinesOfSpillsAndHowManyCopiesAreUnderWay) {
  const Function function = sass_function(R"(	.target	sm_80
.text.k:
	//## File "/a/k.cu", line 3
        /*0000*/                   STL [R1], R4 ;
        /*0010*/                   STL.64 [R1+0x8], R6 ;
	//## File "/a/k.cu", line 9
        /*0020*/                   LDL R4, [R1] ;
        /*0030*/                   LDGSTS.E.BYPASS.128 [R8], [R2.64] ;
        /*0040*/                   LDGDEPBAR ;
        /*0050*/                   DEPBAR.LE SB0, 0x3 ;
        /*0060*/                   EXIT ;
)");
  const std::vector<CodeFinding> findings = find_motifs(function, InstructionSet::sass);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[0].text, HasSubstr("1 cp.async in the kernel; waits until the groups in "
                                          "flight are at most 3"));
  EXPECT_EQ(findings[1].name, "local memory");
  EXPECT_THAT(findings[1].lines,
              ElementsAre(std::pair(SourceLine{0, 3}, 2), std::pair(SourceLine{0, 9}, 1)));
}

TEST(Sass, NamesWhatItDoesNotKnow) {
  const Function function = sass_function(R"(	.target	sm_90a
.text.k:
        /*0000*/                   NOP ;
        /*0010*/                   FROB.X R6, R7 ;
        /*0020*/               @P0 FROB.X R6, R7 ;
        /*0030*/                   EXIT ;
)");
  EXPECT_THAT(unknown_instructions(function), ElementsAre(std::pair("FROB.X", 2)));
}

TEST(Sass, FollowsAddresses) {
  const Code code = read_sass(R"(
	arch = sm_80
		Function : k
        /*0000*/                   MOV R1, c[0x0][0x28] ;    /* 0x00000a0000017a02 */
                                                             /* 0x000fe40000000f00 */
        /*0010*/                   IADD3 R0, R0, 0x1, RZ ;   /* 0x0000000100007810 */
        /*0020*/              @!P0 BRA 0x10 ;                /* 0xffffffe000008947 */
        /*0030*/                   EXIT ;                    /* 0x000000000000794d */
)",
                              "k.sass");
  EXPECT_EQ(code.target, "sm_80");
  ASSERT_THAT(code.functions.at(0).loops, SizeIs(1));
  EXPECT_EQ(code.functions[0].num_instructions(), 4u);
}

TEST(Sass, RefusesWhatIsNone) {
  EXPECT_THROW(read_sass("", "x"), UsageError);
  EXPECT_THROW(read_sass("#include <cuda.h>\n", "x"), UsageError);
}

}  // namespace
}  // namespace assay
