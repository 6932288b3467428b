#pragma once

#include <string>

namespace assay {

/// What the exception says that the function throws; nothing where it throws none.
template <typename Exception, typename Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace assay
