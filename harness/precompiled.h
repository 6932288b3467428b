#pragma once

// Large headers that we never edit. They are parsed once for all that is not optimised.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
