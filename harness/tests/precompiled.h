#pragma once

// Headers that nearly every test includes and that we never edit. They are parsed once for all
// tests.

#include <gmock/gmock.h>

#include "../precompiled.h"
