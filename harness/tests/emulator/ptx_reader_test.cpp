#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/ptx_module.h"
#include "message_of.h"

namespace assay::emulator {
namespace {

constexpr const char* kHead = ".version 8.0\n.target sm_90a\n.address_size 64\n";

PtxModule read(const std::string& text) { return read_module(kHead + text); }

TEST(PtxReader, ReadsAKernel) {
  const PtxModule module = read(R"(.file 1 "x.cu"
.visible .entry k(.param .u64 k_p0, .param .align 8 .b8 k_p1[24])
.maxntid 64, 2, 1
{
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  .shared .align 16 .b8 tile[256];
  .loc 1 7 3
  ld.param.u64 %rd1, [k_p0+8];
  @!%p1 bra $L1;
  st.shared.v2.u32 [tile+-4], {%r1, 0x10};
$L1:
  ret;
})");
  ASSERT_EQ(module.functions.size(), 1u);
  const PtxFunction& kernel = module.functions[0];
  EXPECT_TRUE(kernel.is_kernel);
  EXPECT_EQ(kernel.max_threads, 128u);
  EXPECT_EQ(kernel.num_parameters, 2u);
  EXPECT_EQ(kernel.variables[1].size_bytes, 24u);
  EXPECT_EQ(kernel.variables[2].space, PtxSpace::shared);
  ASSERT_EQ(kernel.instructions.size(), 4u);
  EXPECT_EQ(kernel.instructions[0].line, 7);
  EXPECT_EQ(kernel.instructions[0].operands[1].value, 8);
  EXPECT_TRUE(kernel.instructions[1].is_inverted);
  const PtxOperand& target = kernel.instructions[1].operands[0];
  ASSERT_EQ(target.kind, PtxOperand::Kind::label);
  EXPECT_EQ(kernel.labels[static_cast<std::size_t>(target.index)], 3);
  const PtxOperand& address = kernel.instructions[2].operands[0];
  EXPECT_EQ(address.parts[0].kind, PtxOperand::Kind::variable);
  EXPECT_EQ(address.value, -4);
  EXPECT_EQ(kernel.instructions[2].operands[1].parts[1].value, 16);
}

TEST(PtxReader, KeepsNamesWithinTheirBraces) {
  const PtxModule module = read(R"(.entry k() {
  { .reg .pred p; .reg .b32 %r; W: bra W; }
  { .reg .b64 p; W: bra D; }
D: ret;
})");
  const PtxFunction& kernel = module.functions[0];
  ASSERT_EQ(kernel.registers.size(), 3u);
  EXPECT_EQ(kernel.registers[2].bits, 64);
  const auto target = [&](std::size_t i) {
    return kernel.labels[static_cast<std::size_t>(kernel.instructions[i].operands[0].index)];
  };
  EXPECT_EQ(target(0), 0);
  EXPECT_EQ(target(1), 2);
}

TEST(PtxReader, ReadsInitialValues) {
  const PtxModule module = read(R"(
.global .align 4 .u32 a = 256;
.global .align 4 .f32 b[3] = {0f3F800000, -2.0};
.const .align 8 .u64 c[2] = {generic(a), b+4};
.extern .shared .align 16 .b8 smem[];)");
  ASSERT_EQ(module.variables.size(), 4u);
  EXPECT_EQ(module.variables[0].initial[1], std::byte{1});
  EXPECT_EQ(module.variables[1].size_bytes, 12u);
  EXPECT_EQ(module.variables[1].initial[7], std::byte{0xc0});
  ASSERT_EQ(module.variables[2].addresses.size(), 2u);
  EXPECT_EQ(module.variables[2].addresses[1].at, 8u);
  EXPECT_EQ(module.variables[2].addresses[1].added, 4);
  EXPECT_TRUE(module.variables[3].is_dynamic);
}

TEST(PtxReader, RefusesWhatIsNoPtxWithItsLine) {
  const auto message = [](const std::string& text) {
    return message_of<UsageError>([&] { read_module(text); });
  };
  EXPECT_EQ(message("int main() {}"),
            "PTX:1: expected a directive such as .version, found \"int\"");
  EXPECT_EQ(message(".version 8.0\n.entry k() {\n bra X;\n}"), "PTX:4: there is no label X");
  EXPECT_EQ(message(".version 8.0\n.entry k() {\n .reg .b32 %r<2000000000>;"),
            "PTX:3: more than 1048576 registers");
  EXPECT_NE(message(".version 8.0\n.entry k() {"), "");
  EXPECT_NE(message(".version 8.0\n.global .b8 x[99999999999];"), "");
}

}  // namespace
}  // namespace assay::emulator
