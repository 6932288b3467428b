# find_package(assay): assay::assay is the shared library, assay::static the static one.
if(NOT TARGET assay::assay)
  get_filename_component(_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(assay::assay SHARED IMPORTED)
  set_target_properties(assay::assay PROPERTIES
    IMPORTED_LOCATION "${_prefix}/lib/libassay.so"
    IMPORTED_SONAME libassay.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_prefix}/include")
  add_library(assay::static STATIC IMPORTED)
  set_target_properties(assay::static PROPERTIES
    IMPORTED_LOCATION "${_prefix}/lib/libassay.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_INCLUDE_DIRECTORIES "${_prefix}/include")
  find_package(Threads REQUIRED)
  set_property(TARGET assay::static PROPERTY
    INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
  unset(_prefix)
endif()
