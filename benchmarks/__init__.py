"""The benchmarks of `make bench`. They read data sets from SUTRADHAR_BENCH_DATA and skip missing ones."""
