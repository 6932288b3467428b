#pragma once

#include <string>
#include <vector>

#include "report/tuned_table.h"

namespace assay {

// Tuned tables for other software. Every function takes tables whose problems are unique (see
// unique_problems).

/// {"schema": "assay-tuned-table", "version": 1, "tables": [...]}: device, protocol, objective, and
/// an entry a problem with provenance, toolchain, margin and ties. Fields may be added within
/// version 1.
std::string export_json(const std::vector<TunedTable>& tables);

/// RFC 4180: a header line, then one record a problem; CRLF at the ends of lines; a field that is
/// not known is empty; one that a spreadsheet would compute (`=...`) begins with an apostrophe.
std::string export_csv(const std::vector<TunedTable>& tables);

/// One C++20 header that includes nothing of ours: `NAMESPACE::OP::lookup({.M = 16, ...})` gives a
/// kernel, a `Config` with one field a parameter, and whether the match is exact, the nearest or
/// the fallback; all constexpr. Throws UsageError when an op has more than one table, or when
/// `name_space` is not a namespace's name.
std::string export_header(const std::vector<TunedTable>& tables, const std::string& name_space);

/// `text` as a C++ identifier: other characters become '_'; a keyword, `std`, a name with two
/// leading underscores or a leading digit gets a '_'.
std::string identifier(const std::string& text);

}  // namespace assay
