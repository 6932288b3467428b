// The functions of assay.h as C++17 classes. Errors are exceptions.
#ifndef ASSAY_ASSAY_HPP_
#define ASSAY_ASSAY_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/assay.h"

namespace assay {

/// A call that failed: what() says why.
class CallError : public std::runtime_error {
 public:
  CallError(assay_status status, const char* text)
      : std::runtime_error(std::string(assay_status_name(status)) + ": " + text), status_(status) {}
  assay_status status() const { return status_; }

 private:
  assay_status status_;
};

namespace detail {

struct Free {
  void operator()(assay_pack* pack) const { assay_close(pack); }
  void operator()(assay_plan* plan) const { assay_plan_release(plan); }
};

inline void check(assay_status status, const assay_error& error) {
  if (status != ASSAY_OK) throw CallError(status, error.text);
}

}  // namespace detail

/// What to launch for one problem. Threads may share it.
class TunedLaunch {
 public:
  explicit TunedLaunch(assay_plan* plan) : plan_(plan) {}

  assay_how how() const {
    assay_how how{};
    how.struct_bytes = sizeof how;
    assay_plan_how(plan_.get(), &how);
    return how;
  }

  std::vector<assay_argument> arguments() const {
    std::vector<assay_argument> all(assay_num_arguments(plan_.get()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].struct_bytes = sizeof all[i];
      assay_plan_argument(plan_.get(), i, &all[i]);
    }
    return all;
  }

  std::size_t workspace_bytes() const { return assay_workspace_bytes(plan_.get()); }
  std::size_t prepared_bytes() const { return assay_prepared_bytes(plan_.get()); }

  bool prepare_reads() const { return assay_prepare_reads(plan_.get()) != 0; }

  /// Loads the machine code. If prepare_reads(), also reads the arguments.
  void prepare(void* stream, std::initializer_list<const void*> arguments = {},
               void* prepared = nullptr) {
    assay_error error{};
    detail::check(
        assay_prepare(plan_.get(), stream, pointers(arguments), arguments.size(), prepared, &error),
        error);
  }

  /// Enqueues the launches. The arguments are addresses on the GPU, in the order of arguments().
  void launch(void* stream, std::initializer_list<const void*> arguments, void* workspace = nullptr,
              void* prepared = nullptr) const {
    assay_error error;
    const assay_status status = assay_launch(plan_.get(), stream, pointers(arguments),
                                             arguments.size(), workspace, prepared, &error);
    if (status != ASSAY_OK) throw CallError(status, error.text);
  }

  assay_plan* get() const { return plan_.get(); }

 private:
  static void* const* pointers(const std::initializer_list<const void*>& arguments) {
    return const_cast<void* const*>(arguments.begin());
  }

  std::unique_ptr<assay_plan, detail::Free> plan_;
};

/// An open pack.
class TunedPack {
 public:
  explicit TunedPack(const std::string& path) {
    assay_error error{};
    assay_pack* pack = nullptr;
    detail::check(assay_open(path.c_str(), &pack, &error), error);
    pack_.reset(pack);
  }

  std::vector<std::string> ops() const {
    std::vector<std::string> ops;
    while (const char* op = assay_op(pack_.get(), ops.size())) ops.emplace_back(op);
    return ops;
  }

  /// plan("gemm_bf16", {{"M", 16}, {"N", 4096}, {"K", 4096}}). `device` and `most_factor` are as in
  /// assay_request.
  TunedLaunch plan(const std::string& op, std::initializer_list<assay_number> numbers,
                   int device = -1, double most_factor = 0) const {
    const assay_request request{sizeof request, op.c_str(), numbers.begin(),
                                numbers.size(), device,     most_factor};
    assay_error error{};
    assay_plan* plan = nullptr;
    detail::check(assay_plan_create(pack_.get(), &request, &plan, &error), error);
    return TunedLaunch(plan);
  }

 private:
  std::unique_ptr<assay_pack, detail::Free> pack_;
};

}  // namespace assay

#endif  // ASSAY_ASSAY_HPP_
