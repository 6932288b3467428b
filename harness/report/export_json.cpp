#include <nlohmann/json.hpp>
#include <utility>

#include "report/entry_json.h"
#include "report/export.h"

namespace assay {

std::string export_json(const std::vector<TunedTable>& tables) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TunedTable& table : tables) {
    nlohmann::ordered_json entries = nlohmann::ordered_json::array();
    for (const TunedRow& entry : table.entries) entries.push_back(entry_json(entry));
    list.push_back({{"op", table.op},
                    {"device", device_json(table.device)},
                    {"protocol", table.protocol},
                    {"objective", to_text(table.objective)},
                    {"fallback", table.fallback},
                    {"entries", std::move(entries)}});
  }
  return document("tuned-table", {{"tables", std::move(list)}});
}

}  // namespace assay
