//! Decoder core of Sojourn: bytes of packet captures, queue logs and socket snapshots in, Arrow batches of facts out.
//!
//! The crate knows nothing of Python and writes no files. It never panics on input: whatever the bytes
//! are, decoding ends with a [`Summary`] that counts every record as read or refused and names the first
//! fault with its offset in the plain content.

#![forbid(unsafe_code)]
// A test may panic: that is how it fails.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation
    )
)]

mod address;
mod address_resolver;
mod bytes;
mod capture_decoder;
mod capture_pair;
mod capture_reader;
mod columns;
mod connection_batch;
mod decimal;
mod fault;
mod fingerprint;
mod flow;
mod flow_batch;
mod flow_interval;
mod flow_table;
mod fragments;
mod layers;
mod lenient_json;
mod line_reader;
mod link;
mod loss_spans;
mod ndt;
mod packet_batch;
mod pair_batch;
mod pair_clock;
mod pair_matcher;
mod pcapng;
mod prefix_table;
mod pseudonym;
mod queue_batch;
mod queue_bpftrace;
mod queue_event;
mod queue_flow;
mod queue_interval;
mod queue_log_decoder;
mod queue_log_form;
mod queue_packet_batch;
mod queue_pairing;
mod queue_perf;
mod queue_qmon;
mod queue_table;
mod queued_packet;
mod recording;
mod rtp_clock;
mod rtp_hints;
mod rtp_sequence;
mod rtp_stream;
mod sort_window;
mod source;
mod ss_socket;
mod summary;
mod tcp;
mod tcp_info;
mod tcp_info_decoder;
mod tcp_info_record;
mod tcp_options;
mod tcp_rtt;
#[cfg(test)]
mod test_capture;
mod tunnel;
mod utc_time;
mod zstd_frames;

pub use address_resolver::{AddressResolver, Resolved};
pub use capture_decoder::{CaptureDecoder, CaptureOptions};
pub use capture_pair::{PairDecoder, PairOptions};
pub use fault::{Fault, FaultKind};
pub use fingerprint::{Fingerprint, fingerprint};
pub use ndt::{NdtConnection, NdtResult, NdtVersion};
pub use prefix_table::PrefixTable;
pub use pseudonym::{AddressPolicy, Pseudonyms};
pub use queue_log_decoder::{QueueLogDecoder, QueueLogOptions};
pub use queue_log_form::QueueLogForm;
pub use recording::{CaptureInput, CaptureSpan, capture_span};
pub use rtp_hints::RtpHint;
pub use ss_socket::{SsEndpoint, SsSocket};
pub use summary::Summary;
pub use tcp_info_decoder::{TcpInfoDecoder, TcpInfoOptions};
pub use utc_time::parse_rfc3339_ns;

/// Version of the decoded facts: it changes whenever the same input may give other rows.
/// Not the version of the package, which changes with every release.
pub const VERSION: &str = "0.3.0";
