#include "worker/secret.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace assay {

std::uint64_t Secret::operator()() {
  if (num_left_ == 0) {
    if (getentropy(drawn_.data(), sizeof drawn_) != 0) {
      throw Error("the operating system gives no random numbers: getentropy: {}",
                  std::strerror(errno));
    }
    num_left_ = drawn_.size();
  }
  return std::exchange(drawn_[--num_left_], 0);
}

}  // namespace assay
