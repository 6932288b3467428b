#include "pack/pack.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "example_pack.h"
#include "matchers.h"
#include "pack/kernel_json.h"
#include "space/plan.h"
#include "space/space.h"
#include "spec/kernel_spec.h"
#include "spec/twins.h"
#include "temp_folder.h"

namespace assay {
namespace {

using Json = nlohmann::json;

KernelSpec vector_add() { return load_kernel(ASSAY_SOURCE_DIR "/kernels/vector_add.yaml"); }

Pack example() {
  return example_pack(vector_add(), {{{"N", std::int64_t{1000}}}, {{"N", std::int64_t{4000}}}},
                      parse_config("BLOCK=64,VECTOR=1,ITEMS=2"));
}

Pack read(std::string_view bytes) {
  std::string_view code;
  return read_pack(bytes, "x.pack", &code);
}

std::string sealed(const Pack& pack) { return seal_pack(index_text(pack), kExampleCode); }

/// A pack whose index differs from the example's in one value, and is whole.
std::string with(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json index = nlohmann::json::parse(index_text(example()));
  index.at(nlohmann::json::json_pointer(pointer)) = value;
  return seal_pack(index.dump(), kExampleCode);
}

TEST(Pack, ReadsWhatItWrote) {
  Pack pack = example();
  pack.tables[0].rows[1].fast_for = {0};
  const Pack again = read(sealed(pack));
  EXPECT_EQ(index_text(again), index_text(pack));
  EXPECT_EQ(again.tables[0].rows[1].fast_for, pack.tables[0].rows[1].fast_for);
  EXPECT_EQ(again.tables[0].rows[1].problem, pack.tables[0].rows[1].problem);
}

// A kernel goes through a pack as a reduced contract. Every shipped kernel must be launched from
// there as the tuner launches it.
TEST(Pack, LaunchesAreThoseOfTheContract) {
  int num_kernels = 0;
  for (const char* folder : {"/kernels", "/kernels/examples"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(ASSAY_SOURCE_DIR + std::string(folder))) {
      if (entry.path().extension() != ".yaml") continue;
      for (const KernelSpec& kernel : load_twins(entry.path())) {
        if (!unpackable(kernel).empty()) continue;
        const DeviceInfo device = nominal_device("90a");
        const Space space(kernel, kernel.smoke, device);
        const auto points = space.draw(3, 1);
        ASSERT_FALSE(points.empty()) << kernel.name;
        const KernelSpec again =
            read_kernel_json(nlohmann::json::parse(kernel_json(kernel).dump()));
        for (const auto& point : points) {
          const Config config = space.config(point);
          Plan plan, plan_again;
          EXPECT_EQ(find_launch_plan(kernel, kernel.smoke, config, device, plan), "");
          EXPECT_EQ(find_launch_plan(again, kernel.smoke, config, device, plan_again), "");
          EXPECT_EQ(plan_again, plan) << kernel.name << " " << to_text(config);
        }
        ++num_kernels;
      }
    }
  }
  EXPECT_GT(num_kernels, 30);
}

// A program launches a contract's default for whatever sizes it has.
TEST(Pack, DefaultsFitEveryProblem) {
  int num_defaults = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".yaml") continue;
    for (const KernelSpec& kernel : load_twins(entry.path())) {
      const Config config = load_default_config(kernel);
      if (config.empty()) continue;
      ++num_defaults;
      constexpr std::int64_t kSizes[] = {1, 3, 8, 17, 100, 4096, 10'007};
      std::size_t num_problems = 1;
      for (std::size_t i = 0; i < kernel.dims.size(); ++i) num_problems *= std::size(kSizes);
      for (std::size_t number = 0; number < num_problems; ++number) {
        Problem problem = kernel.smoke;
        std::size_t rest = number;
        for (std::size_t i = 0; i < kernel.dims.size(); ++i, rest /= std::size(kSizes)) {
          problem[i].second = kSizes[rest % std::size(kSizes)];
        }
        for (const char* arch : {"80", "90a"}) {
          Plan plan;
          EXPECT_EQ(find_launch_plan(kernel, problem, config, nominal_device(arch), plan), "")
              << kernel.name << " " << to_text(problem);
        }
      }
    }
  }
  EXPECT_GE(num_defaults, 2);
}

TEST(Pack, RefusesEveryTruncation) {
  const std::string bytes = sealed(example());
  for (std::size_t size = 0; size + kExampleCode.size() < bytes.size(); ++size) {
    EXPECT_THROW(read(bytes.substr(0, size)), UsageError) << size;
  }
  // Without the end of the machine code, no code may be said to lie there.
  EXPECT_THAT([&] { read(bytes.substr(0, bytes.size() - 1)); },
              ThrowsMessage<UsageError>(HasSubstr("machine code lies at 0 to 12 of 11")));
}

TEST(Pack, RefusesEveryFlippedByte) {
  const std::string bytes = sealed(example());
  const std::size_t code_begin = bytes.size() - kExampleCode.size();
  const TempFolder folder;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    if (at < code_begin) {
      EXPECT_THROW(read(damaged), UsageError) << at;
    } else {
      const PackFile file(folder.write("x.pack", damaged).string());
      EXPECT_THROW(file.code(file.pack().codes[0]), UsageError) << at;
    }
  }
}

TEST(Pack, RefusesWhatNoPackHas) {
  const auto refuses = [](const std::string& bytes, const std::string& why) {
    EXPECT_THAT([&] { read(bytes); }, ThrowsMessage<UsageError>(HasSubstr(why)));
  };
  refuses("kernel: x\n", "this is no pack");
  std::string later = sealed(example());
  later[8] = 5;
  refuses(later, "a pack of version 5, expected 4");
  refuses(seal_pack("[]", ""), "not as it must be");
  EXPECT_THROW(seal_pack(std::string(100, '['), ""), UsageError);
  refuses(with("/tables/0/rows/0/kernel", 1), "kernel 1 is none of 1");
  refuses(with("/tables/0/rows/0/kernel", -1), "kernel -1 is none of 1");
  refuses(with("/tables/0/rows/0/codes", {0, 7}), "machine code 7 is none of 1");
  refuses(with("/tables/0/default", 2), "the default row 2 is none of 2");
  refuses(with("/tables/0/rows/1/fast_for", {2}), "the row 2 is none of 2");
  for (const char* row : {"/tables/0/rows/0/fast_for", "/tables/0/rows/1/fast_for"}) {
    refuses(with(row, {1}), "the row 1 is not smaller in one size alone");
  }
  refuses(with("/tables/0/rows/0/problem", {1, 2}), "has 2 numbers");
  refuses(with("/tables/0/rows/0/problem", {1.5}), "a size is no integer");
  refuses(with("/tables/0/rows/0/configuration", {64, 1, 1.5}), "neither an integer nor a word");
  refuses(with("/tables/0/op", "gemm"), "vector_add is no kernel of gemm");
  refuses(with("/codes/0/offset", 1), "machine code lies at 1 to 13 of 12");
  refuses(with("/codes/0/offset", ~std::uint64_t{0}), "machine code lies at");
  refuses(with("/kernels/0/contract/dims", {"N", "N"}), "two things are called N");
  refuses(with("/kernels/0/contract/launches", nlohmann::json::array()), "it has no launch");
  refuses(with("/kernels/0/contract/launches/0/grid/0", "N / x"), "\"N / x\": ");
  refuses(with("/kernels/0/contract/args/0/shape", nlohmann::json::array()), "0 items, not 1");
  refuses(with("/kernels/0/contract/args/1/name", "A"), "two arguments are called A");
  refuses(with("/kernels/0/contract/args/0/form", "texture"), "has the form texture");
}

// Rows are sorted by the first size of their problem, which a forged pack need not have.
TEST(Pack, RefusesAnOpWithoutASize) {
  nlohmann::json index = nlohmann::json::parse(index_text(example()));
  nlohmann::json& contract = index["kernels"][0]["contract"];
  contract["dims"] = nlohmann::json::array();
  contract["let"][0]["value"] = "1";
  for (int i = 0; i < 3; ++i) contract["args"][i]["shape"] = {"64"};
  contract["args"][3]["value"] = "64";
  for (nlohmann::json& row : index["tables"][0]["rows"]) row["problem"] = nlohmann::json::array();
  EXPECT_THAT([&] { read(seal_pack(index.dump(), kExampleCode)); },
              ThrowsMessage<UsageError>(HasSubstr("it has no size")));
}

// What cuBLASLt is to compute instead goes through a pack, too.
TEST(Pack, KnowsTheProductOfAnOp) {
  const auto product = [](const char* file) {
    return kernel_json(load_twins(ASSAY_SOURCE_DIR + std::string(file)).at(0))
        .value("product", Json());
  };
  EXPECT_TRUE(product("/kernels/vector_add.yaml").is_null());
  EXPECT_TRUE(product("/kernels/gated_mma.yaml").is_null());
  EXPECT_EQ(product("/kernels/gemm_mma.yaml"), Json::parse(R"({"a": "A", "b": "B", "out": "C",
    "transpose_a": false, "transpose_b": true})"));
  Json kernel = kernel_json(load_twins(ASSAY_SOURCE_DIR "/kernels/gemm_mma.yaml").at(0));
  const KernelSpec read = read_kernel_json(kernel);
  EXPECT_EQ(kernel_json(read), kernel);
  kernel["product"]["b"] = "M";
  EXPECT_THAT([&] { read_kernel_json(kernel); },
              ThrowsMessage<UsageError>(HasSubstr("none of matrices that the caller passes")));
}

TEST(Pack, SaysWhichKernelsItCannotHave) {
  EXPECT_EQ(unpackable(vector_add()), "");
  KernelSpec kernel = vector_add();
  std::get<BufferSpec>(kernel.args[0].form).texture.emplace();
  EXPECT_EQ(unpackable(kernel), "A is read as a texture");
}

}  // namespace
}  // namespace assay
