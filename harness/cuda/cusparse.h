#pragma once

#include <cusparse.h>

#include "base/error.h"
#include "base/library.h"

#define ASSAY_CUSPARSE_FUNCTIONS(X) \
  X(cusparseCreate)                 \
  X(cusparseDestroy)                \
  X(cusparseSetStream)              \
  X(cusparseGetErrorName)           \
  X(cusparseCreateCsr)              \
  X(cusparseDestroySpMat)           \
  X(cusparseCreateDnVec)            \
  X(cusparseDestroyDnVec)           \
  X(cusparseSpMV_bufferSize)        \
  X(cusparseSpMV_preprocess)        \
  X(cusparseSpMV)

namespace assay {

/// cuSPARSE's functions, with a handle on the current context.
class Cusparse {
 public:
  using Self = Cusparse;
  /// Throws Error that says which library was looked for.
  Cusparse();
  ~Cusparse();
  Cusparse(const Cusparse&) = delete;
  Cusparse& operator=(const Cusparse&) = delete;

  cusparseHandle_t handle() const { return handle_; }

  /// Throws Error "CALL: CUSPARSE_STATUS_NAME" unless `status` is success.
  void check(cusparseStatus_t status, const char* call) const;

  ASSAY_CUSPARSE_FUNCTIONS(ASSAY_MEMBER)

 private:
  Library library_;
  cusparseHandle_t handle_ = nullptr;
};

}  // namespace assay
