# libassay: what a program links that launches tuned kernels. It is made of those sources of the
# harness that need neither YAML nor SQLite, compiled once more so that only assay_* is visible.
if(ASSAY_SANITIZE)
  return()
endif()
set(ASSAY_RUNTIME_base bounded_json device_info dtype expr expr_parser fmt_definitions hash
  library text value)
set(ASSAY_RUNTIME_spec entry kernel_spec vocabulary)
set(ASSAY_RUNTIME_space bindings plan_args plan_launches)
set(ASSAY_RUNTIME_pack choice kernel_json nearest_row pack)
set(ASSAY_RUNTIME_cuda cublas device_query driver handles lt_product)
set(ASSAY_RUNTIME_launch argument_values failure ready_launch)
set(ASSAY_RUNTIME_runtime assay open_pack tuned_plan)
# They are compiled in two groups, in which names of different files must differ.
set(group facts)
foreach(room base spec cuda space pack launch runtime)
  if(room STREQUAL space)
    set(group plans)
  endif()
  set(sources ${ASSAY_RUNTIME_${room}})
  list(TRANSFORM sources PREPEND harness/${room}/)
  list(TRANSFORM sources APPEND .cpp)
  set_source_files_properties(${sources} PROPERTIES UNITY_GROUP ${group})
  list(APPEND ASSAY_RUNTIME_SOURCES ${sources})
endforeach()
# What a program waits for when it chooses a plan; all else need only be small.
set(hot ${ASSAY_RUNTIME_SOURCES})
list(FILTER hot INCLUDE REGEX "/(expr|bindings|nearest_row|open_pack|plan_args)\\.cpp$")
set(cold ${ASSAY_RUNTIME_SOURCES})
list(REMOVE_ITEM cold ${hot})
add_library(assay_runtime_hot OBJECT ${hot})
add_library(assay_runtime_cold OBJECT ${cold})
target_compile_options(assay_runtime_hot PRIVATE -O2)
target_compile_options(assay_runtime_cold PRIVATE -Os)
foreach(part hot cold)
  set(objects assay_runtime_${part})
  set_target_properties(${objects} PROPERTIES UNITY_BUILD_MODE GROUP)
  target_include_directories(${objects} PRIVATE harness include)
  target_include_directories(${objects} SYSTEM PRIVATE ${CUDA_INCLUDE_DIR})
  target_link_libraries(${objects} PRIVATE nlohmann_json::nlohmann_json)
  target_compile_options(${objects} PRIVATE -fPIC -ffunction-sections -fdata-sections
    -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique
    "-DJSON_ASSERT(x)=")  # nlohmann's checks of itself took a seventh of the time to open a pack
  # libxxhash.a is not compiled for shared libraries.
  target_compile_definitions(${objects} PRIVATE
    XXH_INLINE_ALL ASSAY_VERSION="${PROJECT_VERSION}")
  list(APPEND ASSAY_RUNTIME_OBJECTS $<TARGET_OBJECTS:${objects}>)
endforeach()

set(ASSAY_SYMBOLS ${CMAKE_CURRENT_LIST_DIR}/assay.map)
add_library(assay_shared SHARED ${ASSAY_RUNTIME_OBJECTS})
target_link_options(assay_shared PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections
  -Wl,-z,defs -Wl,--version-script=${ASSAY_SYMBOLS})
target_link_libraries(assay_shared PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set_target_properties(assay_shared PROPERTIES
  OUTPUT_NAME assay VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${ASSAY_SYMBOLS})

# The static library is one object, in which all other symbols are local.
set(ASSAY_STATIC ${CMAKE_BINARY_DIR}/libassay.a)
add_custom_command(OUTPUT ${ASSAY_STATIC}
  COMMAND ${CMAKE_LINKER} -r --gc-sections --gc-keep-exported --force-group-allocation -o libassay_all.o
    ${ASSAY_RUNTIME_OBJECTS}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=assay_* libassay_all.o libassay.o
  COMMAND ${CMAKE_COMMAND} -E rm -f libassay.a
  COMMAND ${CMAKE_AR} qcs libassay.a libassay.o
  DEPENDS ${ASSAY_RUNTIME_OBJECTS} VERBATIM COMMAND_EXPAND_LISTS)
add_custom_target(assay_static ALL DEPENDS ${ASSAY_STATIC})
# Threads that share packs, under ThreadSanitizer: scripts/build.sh runtime_threads, then
# build/runtime_threads PACK [SECONDS]
add_executable(runtime_threads EXCLUDE_FROM_ALL harness/tests/runtime/threads_main.cpp ${ASSAY_RUNTIME_SOURCES})
set_target_properties(runtime_threads PROPERTIES UNITY_BUILD_MODE GROUP)
target_include_directories(runtime_threads PRIVATE harness include)
target_include_directories(runtime_threads SYSTEM PRIVATE ${CUDA_INCLUDE_DIR})
target_compile_definitions(runtime_threads PRIVATE XXH_INLINE_ALL ASSAY_VERSION="${PROJECT_VERSION}")
target_compile_options(runtime_threads PRIVATE -O1 -g1 -fsanitize=thread)
target_link_options(runtime_threads PRIVATE -fsanitize=thread)
target_link_libraries(runtime_threads PRIVATE
  nlohmann_json::nlohmann_json fake_cuda ${CMAKE_DL_LIBS} Threads::Threads)

# find_package(assay) and pkg-config find what is installed wherever the folder is moved to.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/assayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(cmake/assay.pc.in ${CMAKE_BINARY_DIR}/assay.pc @ONLY)
install(TARGETS assay_shared LIBRARY DESTINATION lib OPTIONAL)
install(FILES ${ASSAY_STATIC} DESTINATION lib OPTIONAL)
install(DIRECTORY include/assay DESTINATION include)
install(FILES cmake/assayConfig.cmake ${CMAKE_BINARY_DIR}/assayConfigVersion.cmake
  DESTINATION lib/cmake/assay)
install(FILES ${CMAKE_BINARY_DIR}/assay.pc DESTINATION lib/pkgconfig)
