#pragma once

// The operands of wgmma (wgmma.cuh), which takes all sums as separate ones: REGISTERS_n names the
// sums of n columns, and SUMS_n binds them. One list stands on top of the other.

// clang-format off
#define ASSAY_REGISTERS_8 "%0,%1,%2,%3"
#define ASSAY_REGISTERS_16 ASSAY_REGISTERS_8 ",%4,%5,%6,%7"
#define ASSAY_REGISTERS_24 ASSAY_REGISTERS_16 ",%8,%9,%10,%11"
#define ASSAY_REGISTERS_32 ASSAY_REGISTERS_24 ",%12,%13,%14,%15"
#define ASSAY_REGISTERS_40 ASSAY_REGISTERS_32 ",%16,%17,%18,%19"
#define ASSAY_REGISTERS_48 ASSAY_REGISTERS_40 ",%20,%21,%22,%23"
#define ASSAY_REGISTERS_56 ASSAY_REGISTERS_48 ",%24,%25,%26,%27"
#define ASSAY_REGISTERS_64 ASSAY_REGISTERS_56 ",%28,%29,%30,%31"
#define ASSAY_REGISTERS_72 ASSAY_REGISTERS_64 ",%32,%33,%34,%35"
#define ASSAY_REGISTERS_80 ASSAY_REGISTERS_72 ",%36,%37,%38,%39"
#define ASSAY_REGISTERS_88 ASSAY_REGISTERS_80 ",%40,%41,%42,%43"
#define ASSAY_REGISTERS_96 ASSAY_REGISTERS_88 ",%44,%45,%46,%47"
#define ASSAY_REGISTERS_104 ASSAY_REGISTERS_96 ",%48,%49,%50,%51"
#define ASSAY_REGISTERS_112 ASSAY_REGISTERS_104 ",%52,%53,%54,%55"
#define ASSAY_REGISTERS_120 ASSAY_REGISTERS_112 ",%56,%57,%58,%59"
#define ASSAY_REGISTERS_128 ASSAY_REGISTERS_120 ",%60,%61,%62,%63"
#define ASSAY_REGISTERS_136 ASSAY_REGISTERS_128 ",%64,%65,%66,%67"
#define ASSAY_REGISTERS_144 ASSAY_REGISTERS_136 ",%68,%69,%70,%71"
#define ASSAY_REGISTERS_152 ASSAY_REGISTERS_144 ",%72,%73,%74,%75"
#define ASSAY_REGISTERS_160 ASSAY_REGISTERS_152 ",%76,%77,%78,%79"
#define ASSAY_REGISTERS_168 ASSAY_REGISTERS_160 ",%80,%81,%82,%83"
#define ASSAY_REGISTERS_176 ASSAY_REGISTERS_168 ",%84,%85,%86,%87"
#define ASSAY_REGISTERS_184 ASSAY_REGISTERS_176 ",%88,%89,%90,%91"
#define ASSAY_REGISTERS_192 ASSAY_REGISTERS_184 ",%92,%93,%94,%95"
#define ASSAY_REGISTERS_200 ASSAY_REGISTERS_192 ",%96,%97,%98,%99"
#define ASSAY_REGISTERS_208 ASSAY_REGISTERS_200 ",%100,%101,%102,%103"
#define ASSAY_REGISTERS_216 ASSAY_REGISTERS_208 ",%104,%105,%106,%107"
#define ASSAY_REGISTERS_224 ASSAY_REGISTERS_216 ",%108,%109,%110,%111"
#define ASSAY_REGISTERS_232 ASSAY_REGISTERS_224 ",%112,%113,%114,%115"
#define ASSAY_REGISTERS_240 ASSAY_REGISTERS_232 ",%116,%117,%118,%119"
#define ASSAY_REGISTERS_248 ASSAY_REGISTERS_240 ",%120,%121,%122,%123"
#define ASSAY_REGISTERS_256 ASSAY_REGISTERS_248 ",%124,%125,%126,%127"
#define ASSAY_SUMS_8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define ASSAY_SUMS_16(d) ASSAY_SUMS_8(d), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define ASSAY_SUMS_24(d) ASSAY_SUMS_16(d), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define ASSAY_SUMS_32(d) ASSAY_SUMS_24(d), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define ASSAY_SUMS_40(d) ASSAY_SUMS_32(d), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define ASSAY_SUMS_48(d) ASSAY_SUMS_40(d), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define ASSAY_SUMS_56(d) ASSAY_SUMS_48(d), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define ASSAY_SUMS_64(d) ASSAY_SUMS_56(d), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define ASSAY_SUMS_72(d) ASSAY_SUMS_64(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define ASSAY_SUMS_80(d) ASSAY_SUMS_72(d), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define ASSAY_SUMS_88(d) ASSAY_SUMS_80(d), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define ASSAY_SUMS_96(d) ASSAY_SUMS_88(d), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define ASSAY_SUMS_104(d) ASSAY_SUMS_96(d), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define ASSAY_SUMS_112(d) ASSAY_SUMS_104(d), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define ASSAY_SUMS_120(d) ASSAY_SUMS_112(d), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define ASSAY_SUMS_128(d) ASSAY_SUMS_120(d), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define ASSAY_SUMS_136(d) ASSAY_SUMS_128(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define ASSAY_SUMS_144(d) ASSAY_SUMS_136(d), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define ASSAY_SUMS_152(d) ASSAY_SUMS_144(d), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define ASSAY_SUMS_160(d) ASSAY_SUMS_152(d), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define ASSAY_SUMS_168(d) ASSAY_SUMS_160(d), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define ASSAY_SUMS_176(d) ASSAY_SUMS_168(d), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define ASSAY_SUMS_184(d) ASSAY_SUMS_176(d), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define ASSAY_SUMS_192(d) ASSAY_SUMS_184(d), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define ASSAY_SUMS_200(d) ASSAY_SUMS_192(d), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define ASSAY_SUMS_208(d) ASSAY_SUMS_200(d), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define ASSAY_SUMS_216(d) ASSAY_SUMS_208(d), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define ASSAY_SUMS_224(d) ASSAY_SUMS_216(d), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define ASSAY_SUMS_232(d) ASSAY_SUMS_224(d), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define ASSAY_SUMS_240(d) ASSAY_SUMS_232(d), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define ASSAY_SUMS_248(d) ASSAY_SUMS_240(d), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define ASSAY_SUMS_256(d) ASSAY_SUMS_248(d), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
// clang-format on
