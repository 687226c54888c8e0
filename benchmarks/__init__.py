"""The benchmarks of docs/performance.md; `make bench` runs them."""
