//! Whole tcp-info files, compressed ones included.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{TcpInfoDecoder, TcpInfoOptions};

fuzz_target!(|content: &[u8]| {
    for polls in [false, true] {
        let mut decoder = TcpInfoDecoder::new(TcpInfoOptions {
            // A small bound, so that small inputs reach it.
            open_connections: 2,
            polls,
        });
        let reader = Box::new(std::io::Cursor::new(content.to_vec()));
        if decoder.open_reader(reader).is_err() {
            return;
        }
        let mut rows = 0;
        while decoder.read(3) {
            rows += decoder
                .take_batch(false)
                .expect("decoded rows form a batch")
                .num_rows() as u64;
        }
        rows += decoder
            .take_batch(true)
            .expect("decoded rows form a batch")
            .num_rows() as u64;
        let read = decoder.summary().records_read;
        assert!(if polls { rows == read } else { rows <= read });
    }
});
