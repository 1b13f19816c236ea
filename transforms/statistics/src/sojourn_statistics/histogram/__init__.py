"""Log-linear histograms: one by functions over arrays, many by adding them up in Rust."""
