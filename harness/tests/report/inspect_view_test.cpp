#include "report/inspect_view.h"

#include "inspect/example_code.h"
#include "report/golden.h"

namespace assay {
namespace {

// Tables of blocks and their instructions went over the edge of a terminal.
TEST(InspectView, FitsTheTerminal) {
  const std::string other = "\tadd.f32 %f1, %f1, 0f40200000;\n\tret;";
  const Inspected before{"gemm_wgmma M=16,N=4096,K=4096,BLOCK_M=16,BLOCK_N=64,BLOCK_K=128",
                         read_ptx(kernel_of(kNested), "k.ptx")};
  const Inspected after{"k.ptx", read_ptx(kernel_of(other), "k.ptx")};
  for (const std::size_t columns : {60, 80, 120}) {
    expect_fits(inspect_text(before, {columns}), columns);
    expect_fits(difference_text(before, after, {columns}), columns);
  }
}

}  // namespace
}  // namespace assay
