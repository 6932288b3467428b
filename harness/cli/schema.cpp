// `assay schema kernel|op|sweep`: prints what editors check and complete the files by.
#include <string>

#include "base/terminal.h"
#include "cli/verbs.h"
#include "report/entry_json.h"
#include "spec/keys.h"

namespace assay {

namespace {

int print_schema(const std::string& kind) {
  print_out("{}", dump(kind == "kernel" ? kernel_schema()
                       : kind == "op"   ? op_schema()
                                        : sweep_schema()));
  return kExitDone;
}

}  // namespace

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
