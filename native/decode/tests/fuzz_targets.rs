//! The fuzz targets of `native/fuzz` without a fuzzer: their seeds, and what failed once.
#![allow(missing_docs, unreachable_pub, unused_attributes, unused_imports)]
#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use std::fs;
use std::path::{Path, PathBuf};

// A target takes the macro from here, where it makes a function.
extern crate self as libfuzzer_sys;

#[macro_export]
macro_rules! fuzz_target {
    (|$content:ident: &[u8]| $body:block) => {
        pub fn attempt($content: &[u8]) $body
    };
}

#[path = "../../fuzz/fuzz_targets/call.rs"]
mod call;
#[path = "../../fuzz/fuzz_targets/ecn.rs"]
mod ecn;
#[path = "../../fuzz/fuzz_targets/layers.rs"]
mod layers;
#[path = "../../fuzz/fuzz_targets/ndt.rs"]
mod ndt;
#[path = "../../fuzz/fuzz_targets/pair.rs"]
mod pair;
#[path = "../../fuzz/fuzz_targets/pcap.rs"]
mod pcap;
#[path = "../../fuzz/fuzz_targets/pcapng.rs"]
mod pcapng;
#[path = "../../fuzz/fuzz_targets/qmon.rs"]
mod qmon;
#[path = "../../fuzz/fuzz_targets/queue_log.rs"]
mod queue_log;
#[path = "../../fuzz/fuzz_targets/server_name.rs"]
mod server_name;
#[path = "../../fuzz/fuzz_targets/ss.rs"]
mod ss;
#[path = "../../fuzz/fuzz_targets/tcp_info.rs"]
mod tcp_info;

macro_rules! replayed {
    ($($target:ident),*) => {
        const TARGETS: &[&str] = &[$(stringify!($target)),*];
        $(
            #[test]
            fn $target() {
                replay(stringify!($target), $target::attempt);
            }
        )*
    };
}

replayed!(
    call,
    ecn,
    layers,
    ndt,
    pair,
    pcap,
    pcapng,
    qmon,
    queue_log,
    server_name,
    ss,
    tcp_info
);

#[test]
fn every_target_is_replayed() {
    let mut targets: Vec<_> = files(&fuzz().join("fuzz_targets"))
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    targets.sort();
    assert_eq!(targets, TARGETS);
}

fn replay(target: &str, attempt: fn(&[u8])) {
    let seeds = files(&fuzz().join("seeds").join(target));
    assert!(!seeds.is_empty());
    for path in seeds
        .into_iter()
        .chain(files(&fuzz().join("regressions").join(target)))
    {
        // Shown with a failure.
        println!("{}", path.display());
        attempt(&fs::read(path).unwrap());
    }
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// The files of a folder; none where there is no folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect()
}
