// A cubin is an ELF file. The code of entry E is in the section .text.E, and .nv.info.E describes
// it by a list of attributes. A byte says how an attribute's value is stored, the next one which it
// is. Form 4 has a 16-bit size and that many bytes; any other form has 16 bits in all. Attribute
// 0x17 describes one parameter in 12 bytes: 4 of no interest, its number and its offset in 16 bits
// each, and a word whose upper 14 bits are its size. Attribute 0x05 has the launch bounds, a word
// for each dimension. The size of .nv.shared.E is that of static shared memory. Attribute 0x2f of
// .nv.info has the number of an entry's symbol and the registers of a thread, a word each.

#include "base/cubin_info.h"

#include <cxxabi.h>
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/hash.h"

namespace assay {
namespace {

constexpr std::string_view kCode = ".text.", kInfo = ".nv.info.", kInfoOfAll = ".nv.info";
constexpr std::string_view kZeroed = ".nv.global", kInitialised = ".nv.global.init";
constexpr std::string_view kConstants = ".nv.constant3";
constexpr std::string_view kShared = ".nv.shared.";
constexpr unsigned char kSizedForm = 4, kParameter = 0x17, kMaxThreads = 0x05, kRegisters = 0x2f;
constexpr std::size_t kParameterBytes = 12, kMaxThreadsBytes = 12, kRegistersBytes = 8;

/// The T at `offset`; nothing beyond the end.
template <typename T>
std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.substr(offset, size);
}

/// visit(attribute, value), for each attribute in a description.
template <typename Visit>
void for_each_attribute(std::string_view info, const Visit& visit) {
  while (info.size() >= 4) {
    const auto form = static_cast<unsigned char>(info[0]);
    const auto attribute = static_cast<unsigned char>(info[1]);
    const std::size_t size = form == kSizedForm ? *read<std::uint16_t>(info, 2) : 0;
    visit(attribute, part(info, 4, size));
    info.remove_prefix(std::min(info.size(), 4 + size));
  }
}

std::vector<std::int64_t> parameter_sizes(std::string_view info) {
  std::map<std::uint16_t, std::int64_t> sizes;  // by number
  for_each_attribute(info, [&](unsigned char attribute, std::string_view value) {
    if (attribute != kParameter || value.size() != kParameterBytes) return;
    sizes[*read<std::uint16_t>(value, 4)] = *read<std::uint32_t>(value, 8) >> 18;
  });
  std::vector<std::int64_t> list;
  for (const auto& [number, size] : sizes) list.push_back(size);
  return list;
}

struct Section {
  Elf64_Shdr header;
  std::string_view name;
  std::string_view bytes;
};

/// The text that begins at `offset`.
std::string_view text_at(std::string_view bytes, std::uint64_t offset) {
  const std::string_view text = part(bytes, offset, bytes.size());
  return text.substr(0, text.find('\0'));
}

std::vector<Section> sections_of(std::string_view cubin) {
  const auto file = read<Elf64_Ehdr>(cubin, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto header = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(cubin, file->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = header(file->e_shstrndx);
  std::vector<Section> sections;
  for (std::uint64_t i = 0; names && i < file->e_shnum; ++i) {
    const auto each = header(i);
    if (!each) break;
    sections.push_back({*each, text_at(cubin, names->sh_offset + each->sh_name),
                        part(cubin, each->sh_offset, each->sh_size)});
  }
  return sections;
}

/// visit(symbol, name), for each symbol.
template <typename Visit>
void for_each_symbol(const std::vector<Section>& sections, const Visit& visit) {
  for (const Section& table : sections) {
    if (table.header.sh_type != SHT_SYMTAB || table.header.sh_link >= sections.size()) continue;
    const std::string_view names = sections[table.header.sh_link].bytes;
    for (std::uint64_t offset = 0; const auto symbol = read<Elf64_Sym>(table.bytes, offset);
         offset += sizeof(Elf64_Sym)) {
      visit(*symbol, text_at(names, symbol->st_name));
    }
  }
}

/// visit(symbol, name, section), for each variable; the section holds the variable.
template <typename Visit>
void for_each_variable(const std::vector<Section>& sections, const Visit& visit) {
  for_each_symbol(sections, [&](const Elf64_Sym& symbol, std::string_view name) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections.size()) return;
    visit(symbol, std::string(name), sections[symbol.st_shndx]);
  });
}

std::map<std::uint32_t, int> registers_by_symbol(const std::vector<Section>& sections) {
  std::map<std::uint32_t, int> registers;
  for (const Section& section : sections) {
    if (section.name != kInfoOfAll) continue;
    for_each_attribute(section.bytes, [&](unsigned char attribute, std::string_view value) {
      if (attribute != kRegisters || value.size() != kRegistersBytes) return;
      registers[*read<std::uint32_t>(value, 0)] = static_cast<int>(*read<std::uint32_t>(value, 4));
    });
  }
  return registers;
}

}  // namespace

std::size_t cubin_bytes(const char* text) {
  if (std::strncmp(text, ELFMAG, SELFMAG) != 0) return 0;
  Elf64_Ehdr header;
  std::memcpy(&header, text, sizeof header);
  std::size_t bytes = std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                               header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, text + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) {
      bytes = std::max<std::size_t>(bytes, section.sh_offset + section.sh_size);
    }
  }
  return bytes;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : symbol;
}

std::map<std::string, std::vector<std::int64_t>> entries_of(std::string_view cubin) {
  std::map<std::string, std::vector<std::int64_t>> entries;
  for (const auto& [header, name, bytes] : sections_of(cubin)) {
    if (name.starts_with(kCode)) entries.try_emplace(std::string(name.substr(kCode.size())));
    if (!name.starts_with(kInfo)) continue;
    entries[std::string(name.substr(kInfo.size()))] = parameter_sizes(bytes);
  }
  return entries;
}

std::map<std::string, KernelLimits> kernel_limits_of(std::string_view cubin) {
  std::map<std::string, KernelLimits> limits;
  const std::vector<Section> sections = sections_of(cubin);
  const std::map<std::uint32_t, int> registers = registers_by_symbol(sections);
  std::uint32_t symbol_number = 0;
  for_each_symbol(sections, [&](const Elf64_Sym& symbol, std::string_view name) {
    const auto found = registers.find(symbol_number++);
    if (found == registers.end() || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return;
    limits[std::string(name)].registers = found->second;
  });
  for (const auto& [header, name, bytes] : sections) {
    if (name.starts_with(kShared)) {
      limits[std::string(name.substr(kShared.size()))].smem_section_bytes =
          static_cast<std::int64_t>(header.sh_size);
    }
    if (!name.starts_with(kInfo)) continue;
    const std::string entry(name.substr(kInfo.size()));
    for_each_attribute(bytes, [&](unsigned char attribute, std::string_view value) {
      if (attribute != kMaxThreads || value.size() != kMaxThreadsBytes) return;
      std::int64_t threads = 1;
      for (std::size_t i = 0; i < 3; ++i) threads *= *read<std::uint32_t>(value, 4 * i);
      limits[entry].max_threads = threads;
    });
  }
  return limits;
}

std::vector<std::string> variables_of(std::string_view cubin) {
  std::vector<std::string> variables;
  for_each_variable(sections_of(cubin),
                    [&](const Elf64_Sym&, std::string name, const Section& section) {
                      if (section.name != kZeroed && section.name != kInitialised) return;
                      variables.push_back(std::move(name));
                    });
  return variables;
}

std::vector<std::string> constants_of(std::string_view cubin) {
  std::vector<std::string> constants;
  for_each_variable(sections_of(cubin),
                    [&](const Elf64_Sym&, std::string name, const Section& section) {
                      if (section.name == kConstants) constants.push_back(std::move(name));
                    });
  return constants;
}

bool uses_heap(std::string_view cubin) {
  bool found = false;
  for_each_symbol(sections_of(cubin), [&](const Elf64_Sym& symbol, std::string_view name) {
    found = found || (symbol.st_shndx == SHN_UNDEF && name == "malloc");
  });
  return found;
}

std::string code_hash_of(std::string_view cubin, std::string_view symbol) {
  std::vector<std::string> parts;
  std::string_view own;
  for (const auto& [header, name, bytes] : sections_of(cubin)) {
    if (name.starts_with(kCode)) {
      if (name.substr(kCode.size()) == symbol) own = bytes;
      parts.emplace_back(bytes);
    } else if (name.starts_with(kConstants) || name == kInitialised) {
      parts.emplace_back(bytes);
    } else if (name.starts_with(kShared) || name == kZeroed) {
      parts.push_back(std::to_string(header.sh_size));
    }
  }
  std::ranges::sort(parts);  // sections lie in the order of their names
  Hasher hasher;
  hasher.add(own);
  for (const std::string& part : parts) hasher.add(part);
  return hasher.hex();
}

std::vector<Variable> named_variables_of(std::string_view cubin) {
  std::vector<Variable> variables;
  for_each_variable(sections_of(cubin), [&](const Elf64_Sym& symbol, const std::string& name,
                                            const Section& section) {
    if (section.name != kConstants && section.name != kZeroed && section.name != kInitialised) {
      return;
    }
    variables.push_back({name, demangled(name), static_cast<std::int64_t>(symbol.st_size)});
  });
  return variables;
}

std::optional<Variable> find_variable(std::string_view cubin, std::string_view name) {
  if (name.starts_with("::")) name.remove_prefix(2);
  for (Variable& variable : named_variables_of(cubin)) {
    if (variable.name == name || variable.symbol == name) return std::move(variable);
  }
  return std::nullopt;
}

}  // namespace assay
