#pragma once

#include "store/database.h"

namespace assay {

/// Makes the tables in a database that is empty, all at one moment. Throws as require_tables() does
/// where it is not, and has others.
void make_tables(Database& database);

/// Throws UsageError when the database is empty or belongs to another program, Error unless this
/// version of Assay wrote its schema.
void require_tables(Database& database);

}  // namespace assay
