# Benchmarks, built only when asked for: cmake --build --preset release --target bench_quick
find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(bench_quick EXCLUDE_FROM_ALL bench/quick.cc bench/limit.cc)
  target_include_directories(bench_quick PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(bench_quick PRIVATE ndpool_flags ndpool_objects benchmark::benchmark)
endif()
