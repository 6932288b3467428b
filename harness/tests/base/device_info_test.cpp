#include "base/device_info.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace assay {
namespace {

std::string slug(const char* name) {
  DeviceInfo info;
  info.name = name;
  return info.slug();
}

TEST(DeviceInfo, SlugIsAFolderName) {
  EXPECT_EQ(slug("NVIDIA H200"), "nvidia_h200");
  EXPECT_EQ(slug("NVIDIA A100-SXM4-80GB"), "nvidia_a100_sxm4_80gb");
  EXPECT_EQ(slug("  ../x (y) "), "x_y");
  EXPECT_EQ(slug(""), "");
}

TEST(DeviceInfo, ArchVariantsStartAt90) {
  EXPECT_EQ(native_arch(80), "80");
  EXPECT_EQ(native_arch(89), "89");
  EXPECT_EQ(native_arch(90), "90a");
  EXPECT_EQ(native_arch(120), "120a");
}

TEST(DeviceInfo, NominalDevicesAreUsable) {
  for (const std::string arch : {"80", "86", "89", "90", "90a", "100", "100a", "120", "120a"}) {
    const DeviceInfo info = nominal_device(arch);
    EXPECT_EQ(std::to_string(info.cc), arch.substr(0, arch.find('a')));
    EXPECT_GT(info.sm_count, 0);
    EXPECT_GE(info.smem_optin_bytes, 99 * 1024);
    EXPECT_GT(info.l2_bytes, 0);
    EXPECT_GT(info.memory_bytes, info.l2_bytes);
    EXPECT_EQ(info.uuid, "");
    EXPECT_EQ(info.driver, "");
  }
  EXPECT_EQ(nominal_device("90a").smem_optin_bytes, 232448);
}

TEST(DeviceInfo, UnknownArchNamesTheKnown) {
  for (const char* arch : {"", "9", "90b", "sm_90", "2000"}) {
    try {
      nominal_device(arch);
      FAIL() << arch;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "unknown arch \"" + std::string(arch) +
                                  "\"; known are 80, 86, 89, 90, 90a, "
                                  "100, 100a, 120, 120a");
    }
  }
}

TEST(DeviceInfo, TheModelInANameTellsTheLimits) {
  EXPECT_EQ(nominal_model("NVIDIA A100-PCIE-40GB").value().cc, 80);
  EXPECT_EQ(nominal_model("NVIDIA H100 80GB HBM3").value().cc, 90);
  EXPECT_LT(nominal_model("NVIDIA H100 80GB HBM3").value().memory_bytes,
            nominal_model("NVIDIA H200").value().memory_bytes);
  EXPECT_FALSE(nominal_model("NVIDIA GeForce GTX 1080"));
}

}  // namespace
}  // namespace assay
