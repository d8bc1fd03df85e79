"""What `make bench` measures. Data sets are looked for in SUTRADHAR_BENCH_DATA; absent ones are skipped."""
