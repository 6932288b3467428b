#pragma once

#include <span>

#include "store/database.h"

namespace assay {

/// The SQL that takes a database from schema n to n + 1, for n = 0 (an empty file), 1 and so on. A
/// published step never changes. New steps are added at the end.
std::span<const char* const> schema_steps();

/// Brings a database opened for writing to the newest schema, all steps in one transaction.
/// Throws UsageError when it belongs to another program, Error when a newer Assay wrote it.
void migrate(Database& database, std::span<const char* const> steps = schema_steps());

/// Throws as migrate() does, and Error unless the database has exactly the newest schema; changes
/// nothing.
void require_newest_schema(Database& database, std::span<const char* const> steps = schema_steps());

}  // namespace assay
