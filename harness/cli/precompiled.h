#pragma once

// Headers that every verb includes and that we never edit. They are parsed once for all verbs.

#include "base/precompiled.h"

#include <CLI/CLI.hpp>
