// Lists the ops of a pack and, with sizes, says what would be launched: launch_cpp PACK [OP M N K]
#include <assay/assay.hpp>
#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2 && argc != 6) {
    std::cerr << "usage: launch_cpp PACK [OP M N K]\n";
    return 2;
  }
  try {
    const assay::TunedPack pack(argv[1]);
    for (const std::string& op : pack.ops()) std::cout << "op " << op << "\n";
    if (argc == 2) return 0;
    assay::TunedLaunch product = pack.plan(
        argv[2], {{"M", std::atof(argv[3])}, {"N", std::atof(argv[4])}, {"K", std::atof(argv[5])}});
    product.prepare(nullptr);
    // product.launch(stream, {a, b, c}, workspace) is all that is left to do.
    std::cout << product.how().kernel << " " << product.how().configuration << ", "
              << product.workspace_bytes() << " bytes of workspace\n";
  } catch (const assay::CallError& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
