// `assay new KERNEL.cu`: writes a contract to fill in beside the kernel.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/verbs.h"
#include "spec/draft.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// By what an editor checks and completes the draft, where the program is installed.
std::string schema_line() {
  const fs::path schema = shipped_folder() / "schema/kernel.json";
  if (!fs::exists(schema)) return "";
  return fmt::format("# yaml-language-server: $schema={}\n", schema.string());
}

int write_draft(const fs::path& source) {
  if (source.extension() != ".cu") {
    throw UsageError("{}: a contract finds its source by the name, which ends in .cu; rename it",
                     source.string());
  }
  const fs::path contract = fs::path(source).replace_extension(".yaml");
  const std::string draft = schema_line() + draft_contract(source);
  if (fs::exists(contract)) {
    throw UsageError(contract.string() + ": is there already; nothing is overwritten");
  }
  write_file_atomic(contract, draft);
  print_out("{0}: fill in the lines that begin with #?, then try: assay list {0}\n",
            contract.string());
  return kExitDone;
}

}  // namespace

void add_new(Command program) {
  auto [verb, source] = program.add_verb<std::string>(
      "new", "draft a contract for a kernel, beside its source", write_draft);
  verb.add_option("KERNEL.cu", *source, "the source of the kernel").required();
  verb.footer("example: assay new saxpy.cu");
}

}  // namespace assay
