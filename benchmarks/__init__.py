"""The benchmarks of `make bench`. Data sets are read from SUTRADHAR_BENCH_DATA; missing ones are skipped."""
