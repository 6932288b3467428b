#pragma once

#include "store/database.h"

namespace assay {

/// Makes the tables and views in a database that is empty, all at one moment, and the views in one
/// that lacks them. Throws as require_tables() does where the database has other tables.
void make_tables(Database& database);

/// Throws UsageError when the database is empty or belongs to another program, Error unless this
/// version of Assay wrote its schema.
void require_tables(Database& database);

}  // namespace assay
