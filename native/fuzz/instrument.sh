#!/bin/sh
# rustc, for cargo's RUSTC_WRAPPER: adds coverage to our crates only. Counters of Arrow and of the decompressors tell the fuzzer
# nothing about the decoder, and reading them after each execution took half of the time.
case " $* " in
*" --crate-name sojourn_decode "* | *" fuzz_targets/"*)
  exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
  ;;
*) exec "$@" ;;
esac
