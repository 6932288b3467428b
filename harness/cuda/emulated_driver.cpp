// Apart from driver.cpp, so that libassay needs nothing of the emulator.
#include "cuda/driver.h"

namespace assay {

Driver::Driver(Emulated) {
#define ASSAY_TAKE(function) function.address = &::function;
  ASSAY_DRIVER_FUNCTIONS(ASSAY_TAKE)
#undef ASSAY_TAKE
  event_elapsed_time = &::cuEventElapsedTime;
  initialise();
}

}  // namespace assay
