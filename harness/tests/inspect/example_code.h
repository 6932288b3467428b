#pragma once

#include <string>

#include "inspect/code.h"

namespace assay {

/// A PTX module with one kernel of this body.
inline std::string kernel_of(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n" +
         body + "\n}\n\t.file\t1 \"/a/k.cu\"\n";
}

inline Function ptx_function(const std::string& body) {
  return read_ptx(kernel_of(body), "k.ptx").functions.at(0);
}

/// The first function of what a disassembler prints.
inline Function sass_function(const std::string& text) {
  return read_sass(text, "k.sass").functions.at(0);
}

// Two loops, one within the other, and a tail that half of the threads skip.
inline constexpr char kNested[] = R"(
	.reg .b32 %r<9>;
	.loc 1 3 5
	ld.param.u64 %rd1, [k_param_0];
$L_outer:
	mov.u32 %r1, 0; // starts again
$L_inner:
	.loc	1 7 9, function_name $L__info_string0, inlined_at 1 5 2
	fma.rn.f32 %f1, %f1, 0f40200000, %f2;
	ld.global.v4.f32 {%f2, %f3, %f4, %f5}, [%rd1+-256];
	add.s32 %r1, %r1, 1;
	setp.lt.s32 %p1, %r1, 100;
	@%p1 bra $L_inner;
	setp.lt.s32 %p2, %r2, 10;
	@%p2 bra $L_outer;
	@!%p2 bra $L_end;
	{ .reg .b32 t; mov.b32 t, %r1; st.global.u8 [%rd1], t; }
$L_end:
	ret;)";

// As nvdisasm prints it, with a loop that a second entry point of the text does not disturb.
inline constexpr char kSass[] = R"(	.target	sm_90
//--------------------- .text.k                  --------------------------
	.section	.text.k,"ax",@progbits
k:
.text.k:
	//## File "/a/k.cu", line 3
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   BSSY.RECONVERGENT B0, `(.L_x_1) ;
.L_x_0:
	//## File "/a/k.cuh", line 9 inlined at "/a/k.cu", line 7
	//## File "/a/k.cu", line 7
        /*0020*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0030*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*0040*/                   FFMA R4, R4, 2.5, R5 ;
        /*0050*/              @!P0 BRA `(.L_x_0) ;
        /*0060*/                   BSYNC.RECONVERGENT B0 ;
.L_x_1:
        /*0070*/               @P1 STL [R1], R4 ;
        /*0080*/                   EXIT ;
.L_x_2:
        /*0090*/                   BRA `(.L_x_2);
        /*00a0*/                   NOP;
.L_x_3:
)";

}  // namespace assay
