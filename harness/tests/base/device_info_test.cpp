#include "base/device_info.h"

#include <gmock/gmock.h>

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
  for (const std::string arch : {"75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a",
                                 "100f", "103f", "110a", "120", "120f", "121a"}) {
    const DeviceInfo info = nominal_device(arch);
    EXPECT_EQ(std::to_string(info.cc), arch.substr(0, arch.find_first_of("af")));
    EXPECT_TRUE(info.name.starts_with("nominal sm_" + arch + " (")) << info.name;
    EXPECT_GT(info.sm_count, 0);
    EXPECT_GE(info.smem_optin_bytes, 64 * 1024);
    EXPECT_GT(info.l2_bytes, 0);
    EXPECT_GT(info.memory_bytes, info.l2_bytes);
    EXPECT_EQ(info.uuid, "");
    EXPECT_EQ(info.driver, "");
  }
  EXPECT_EQ(nominal_device("90a").smem_optin_bytes, 232448);
  EXPECT_EQ(nominal_device("90a").name, "nominal sm_90a (H200)");
}

TEST(DeviceInfo, UnknownArchNamesTheKnown) {
  for (const char* arch : {"", "9", "90b", "sm_90", "2000", "70", "80a", "90f", "90aa"}) {
    EXPECT_THAT([&] { nominal_device(arch); },
                testing::ThrowsMessage<UsageError>(
                    "unknown arch \"" + std::string(arch) +
                    "\"; expected one of 75, 80, 86, 87, 89, 90, 100, 103, 110, "
                    "120, 121, also with an a from 90 on or an f from 100 on, such "
                    "as 90a"));
  }
}

// An A4000 got the limits of an A40, whose name is a part of its own.
TEST(DeviceInfo, TheWholeNameOfAModelTellsTheLimits) {
  EXPECT_EQ(nominal_model("NVIDIA A100-PCIE-40GB").value().memory_bytes, std::int64_t{40} << 30);
  EXPECT_EQ(nominal_model("A40").value().sm_count, 84);
  EXPECT_EQ(nominal_model("NVIDIA RTX A4000").value().sm_count, 48);
  EXPECT_EQ(nominal_model("NVIDIA H100 80GB HBM3").value().sm_count, 132);
  EXPECT_EQ(nominal_model("NVIDIA H100 PCIe").value().sm_count, 114);
  EXPECT_EQ(nominal_model("RTX_2070_SUPER").value().cc, 75);
  EXPECT_EQ(nominal_model("NVIDIA GeForce RTX 5090").value().cc, 120);
  EXPECT_EQ(nominal_model("Tesla T4").value().cc, 75);
  EXPECT_EQ(nominal_model("NVIDIA H200").value().name, "nominal sm_90a (H200)");
  for (const char* name :
       {"NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 5090 Laptop GPU", "NVIDIA A400", "A4",
        "NVIDIA H100", "NVIDIA A100 80GB PCIe MIG 1g.10gb", "NVIDIA RTX 6000 Ada Generation", ""}) {
    EXPECT_FALSE(nominal_model(name)) << name;
  }
}

}  // namespace
}  // namespace assay
