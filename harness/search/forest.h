#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// Extremely randomised trees (Geurts, Ernst and Wehenkel, 2006): what is expected of a value from
/// the features of others. Only the order of a feature's numbers counts, not their scale.
class Forest {
 public:
  /// `features` holds `num_features` numbers for each of `values`, which are one or more.
  /// Uses all processors, as it has to be trained anew with each result.
  Forest(std::size_t num_features, std::span<const float> features, std::span<const float> values,
         std::uint64_t seed);

  double value(std::span<const float> features) const { return guess(features).mean; }

  struct Guess {
    double mean = 0;
    double deviation = 0;  // standard: of what the trees say, each of which saw other differences
  };
  Guess guess(std::span<const float> features) const;

 private:
  struct Node {
    std::uint32_t feature = 0;
    std::uint32_t right = 0;  // where the node of what lies above begins; that of the rest is next
    float threshold = 0;
    float value = 0;  // of a leaf, which has no right
  };
  using Tree = std::vector<Node>;  // the root first
  struct Training;

  std::vector<Tree> trees_;
};

}  // namespace assay
