#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "judge/operation.h"

namespace assay {
namespace {

class Add : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const auto& a = call.operand("a").shape;
    const auto& b = call.operand("b").shape;
    if (a != b) {
      throw oracle_failure(
          fmt::format("add: a is [{}] but b is [{}]", fmt::join(a, ","), fmt::join(b, ",")));
    }
    return {{a}};
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand& a = call.operand("a");
    const Operand& b = call.operand("b");
    engine.support().add(a.dtype, a.data, b.dtype, b.data, call.operand("out").data, a.elements());
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const double a = read(call.operand("a"), index, 1, 1)[0];
    const double b = read(call.operand("b"), index, 1, 1)[0];
    return ExactElement{a + b, std::hypot(a, b)};
  }
};

}  // namespace

const Operation& operation::add() {
  static const Add add;
  return add;
}

}  // namespace assay
