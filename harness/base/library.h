#pragma once

#include <string>
#include <string_view>
#include <vector>

// Of functions that are listed as X(cuInit) X(...): a member of the class Self for each, and what
// loads it from `library_`. Names are spelled as in the library's headers, whose macros turn
// cuMemAlloc into the exported cuMemAlloc_v2. They rename members, uses and symbols alike, so a
// symbol fits its prototype; messages have the name as it is spelled.
#define ASSAY_TEXT(x) #x
#define ASSAY_MEMBER(function) \
  LibraryFunction<Self, decltype(&::function)> function{*this, #function};
#define ASSAY_LOAD(function) library_.load(function.address, ASSAY_TEXT(function));

namespace assay {

/// A function of a library. If it returns an error code, `check` of its owner sees each.
template <typename Owner, typename Address>
struct LibraryFunction;
template <typename Owner, typename Result, typename... Parameters>
struct LibraryFunction<Owner, Result (*)(Parameters...)> {
  LibraryFunction(const Owner& its_owner, const char* its_name)
      : owner(its_owner), name(its_name) {}

  auto operator()(Parameters... arguments) const {
    if constexpr (requires(Result code) { owner.check(code, name); }) {
      owner.check(address(arguments...), name);
    } else {
      return address(arguments...);
    }
  }
  /// For who looks at the code.
  Result result(Parameters... arguments) const { return address(arguments...); }

  const Owner& owner;
  const char* name;
  Result (*address)(Parameters...) = nullptr;
};

/// Folders in which a library is looked for.
struct LibraryFolders {
  std::vector<std::string> first;  // ahead of where the loader looks
  std::vector<std::string> last;   // behind
};

/// A shared library that is opened at run time, so that what needs no GPU runs without a driver.
class Library {
 public:
  /// Opens the first of `names` in the first of the folders that has one. Throws Error "cannot load
  /// WHAT: looked for ..., ...; ADVICE".
  Library(std::string_view what, const std::vector<std::string>& names,
          const LibraryFolders& folders, std::string_view advice);

  /// Sets `function` to the exported `name`. Throws Error that names the library and the symbol.
  template <typename Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  /// Never closed: CUDA's libraries keep threads and exit handlers whose code must stay mapped.
  void* handle_ = nullptr;
};

/// The toolkit that the user names, $CUDA_HOME; empty when not set.
std::string named_toolkit();
/// Where a CUDA toolkit may be installed: the one named, then /usr/local/cuda.
std::vector<std::string> toolkit_roots();
/// Where a toolkit's libraries are looked for. The toolkit that is named comes first, then what the
/// loader knows, such as LD_LIBRARY_PATH, then /usr/local/cuda. `subfolder` may name a further
/// place below each of the two: "extras/CUPTI/lib64".
LibraryFolders toolkit_libraries(const std::string& subfolder = "");

}  // namespace assay
