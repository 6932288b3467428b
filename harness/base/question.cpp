#include "base/question.h"

#include <fmt/format.h>

namespace assay {

QuestionOrder order_of(const Question& question) {
  std::vector<double> sizes;
  for (const auto& [name, number] : question.problem) sizes.push_back(to_real(number));
  return {question.op, question.device.name, question.protocol, std::move(sizes),
          to_text(question.problem)};
}

std::string question_text(const Question& question) {
  return fmt::format("{} {} {} {}", question.op, to_text(question.problem), question.device.slug(),
                     question.protocol);
}

std::string heading_text(const Question& question) {
  return fmt::format("{} on {}, protocol {}", question.op, question.device.name, question.protocol);
}

}  // namespace assay
