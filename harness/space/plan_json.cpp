#include "space/plan_json.h"

namespace assay {

inline void to_json(nlohmann::json& target, Role role) { target = name_of(kRoles, role); }
inline void from_json(const nlohmann::json& source, Role& role) {
  role = row_of(kRoles, "role", source.get_ref<const std::string&>()).id;
}

inline void to_json(nlohmann::json& target, AddressMode mode) {
  target = name_of(kAddressModes, mode);
}
inline void from_json(const nlohmann::json& source, AddressMode& mode) {
  mode = row_of(kAddressModes, "address", source.get_ref<const std::string&>()).id;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TextureSpec, channels, linear, address, normalized)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BufferPlan, name, dtype, shape, role, generator, arguments,
                                   zeroed, copy_of, symbol, checked, check_sorted, check_sum,
                                   made_of, file, texture)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScalarPlan, name, dtype, value, is_seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorMapPlan, name, of, box, swizzle_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StructPlan, name, members)

inline void to_json(nlohmann::json& target, const ArgPlan& arg) {
  std::visit([&](const auto& form) { target = form; }, arg);
  target["form"] = arg.index();
}

inline void from_json(const nlohmann::json& source, ArgPlan& arg) {
  switch (source.at("form").get<int>()) {
    case 0:
      arg = source.get<BufferPlan>();
      return;
    case 1:
      arg = source.get<ScalarPlan>();
      return;
    case 2:
      arg = source.get<TensorMapPlan>();
      return;
    case 3:
      arg = source.get<StructPlan>();
      return;
  }
  throw Error("a plan's argument has no form {}", source["form"].dump());
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchPlan, entry, grid, block, cluster, smem_bytes, early,
                                   carveout, cooperative, args, symbol)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferenceKernelPlan, source, cubin_path, args, launch,
                                   sum_length, passes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BaselinePlan, name, steps, relative)

// The macro's functions are inline. What other files call is not, so that they need not make it.
namespace fields {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferencePlan, operation, operands, options, kernel, round, file,
                                   sum_length)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, kernel, problem, config, args, launches, reference, fills,
                                   prepare, relative_tolerance, element_tolerance,
                                   absolute_tolerance, deterministic, flops, bytes, baselines)
}  // namespace fields

void to_json(nlohmann::json& target, const ReferencePlan& plan) { fields::to_json(target, plan); }
void from_json(const nlohmann::json& source, ReferencePlan& plan) {
  fields::from_json(source, plan);
}
void to_json(nlohmann::json& target, const Plan& plan) { fields::to_json(target, plan); }
void from_json(const nlohmann::json& source, Plan& plan) { fields::from_json(source, plan); }

}  // namespace assay
