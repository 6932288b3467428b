// The verbs for who writes contracts. `assay new KERNEL.cu`: writes one to fill in beside the
// kernel. `assay schema kernel|op|sweep`: prints what editors check and complete the files by.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/verbs.h"
#include "report/entry_json.h"
#include "spec/draft.h"
#include "spec/keys.h"

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

int print_schema(const std::string& kind) {
  print_out("{}", dump(kind == "kernel" ? kernel_schema()
                       : kind == "op"   ? op_schema()
                                        : sweep_schema()));
  return kExitDone;
}

}  // namespace

void add_new(Command program) {
  auto [verb, source] = program.add_verb<std::string>(
      "new", "draft a contract for a kernel, beside its source", write_draft);
  verb.add_option("KERNEL.cu", *source, "the source of the kernel").required();
  verb.footer("example: assay new saxpy.cu");
}

void add_schema(Command program) {
  auto [verb, kind] = program.add_verb<std::string>(
      "schema", "print the JSON Schema of kernel, op or sweep files", print_schema);
  verb.add_option("KIND", *kind, "of which files").required().one_of({"kernel", "op", "sweep"});
  verb.footer(
      "An editor with a YAML language server checks and completes a file by it. The file's first\n"
      "line names the schema: # yaml-language-server: $schema=PATH\n"
      "`cmake --install` puts all into share/assay/schema.\n"
      "example: assay schema kernel > kernel.json");
}

}  // namespace assay
