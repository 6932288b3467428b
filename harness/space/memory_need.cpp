#include "space/memory_need.h"

#include <set>

namespace assay {
namespace {

void add_names(const Plan& plan, std::size_t place, std::set<std::string>& names) {
  const ArgPlan& arg = plan.args[place];
  if (const auto* buffer = std::get_if<BufferPlan>(&arg)) {
    names.insert(buffer->name);
    if (!buffer->copy_of.empty()) names.insert(buffer->copy_of);
  } else if (const auto* map = std::get_if<TensorMapPlan>(&arg)) {
    names.insert(map->of);
  } else if (const auto* packed = std::get_if<StructPlan>(&arg)) {
    for (const std::size_t member : packed->members) add_names(plan, member, names);
  }
}

}  // namespace

std::int64_t memory_bytes(const Plan& plan) {
  std::set<std::string> names;
  for (const LaunchPlan& launch : plan.launches) {
    for (const std::size_t place : launch.args) add_names(plan, place, names);
  }
  std::int64_t sum = 0;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (names.contains(buffer->name) || !buffer->symbol.empty()) sum += buffer->bytes();
  }
  return sum;
}

}  // namespace assay
