# Benchmarks, built only when asked for: cmake --build --preset release --target bench_quick
find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(bench_quick EXCLUDE_FROM_ALL bench/quick.cc bench/limit.cc)
  target_include_directories(bench_quick PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(bench_quick PRIVATE ndpool_flags ndpool_objects benchmark::benchmark)
endif()

add_executable(bench_scaling EXCLUDE_FROM_ALL bench/scaling.cc bench/limit.cc)
target_include_directories(bench_scaling PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(bench_scaling PRIVATE ndpool_flags ndpool_objects)

# The limit of memory for `make bench`, which loads it from Python. Of the library it needs only what
# asks for huge pages; that file comes along, so that the whole library need not be linked twice.
add_library(bench_limit SHARED EXCLUDE_FROM_ALL bench/limit_c.cc bench/limit.cc src/machine.cc)
target_include_directories(bench_limit PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} include src)
target_link_libraries(bench_limit PRIVATE ndpool_flags hwy::hwy Threads::Threads)
