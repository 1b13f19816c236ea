//! Decoder core of Sojourn: bytes of packet captures, queue logs and polls of sockets in, Arrow batches of facts out.
//!
//! The crate does not depend on Python and writes no files. It never panics on input: whatever the bytes
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

mod call;
mod capture;
mod connection;
mod declarations;
mod flow;
mod input;
mod output;
mod packet;
mod pair;
mod pseudonym;
mod queue;
mod rtp;
mod server;
#[cfg(test)]
mod test_capture;
mod twos_complement;

pub use capture::decoder::{CaptureDecoder, CaptureOptions};
pub use capture::recording::{CaptureInput, CaptureSpan, capture_span, holds_capture};
pub use connection::ndt::document::NdtVersion;
pub use connection::ndt::result::{NdtConnection, NdtResult};
pub use connection::ss_socket::{SsEndpoint, SsSocket};
pub use connection::tcp_info::decoder::{TcpInfoDecoder, TcpInfoOptions};
pub use declarations::{decoded, link_types, refusal_reasons};
pub use input::fingerprint::{Fingerprint, fingerprint};
pub use input::utc_time::parse_rfc3339_ns;
pub use output::decoded::Decoded;
pub use output::fault::{Fault, FaultKind};
pub use output::refusal::RefusalReason;
pub use output::summary::Summary;
pub use packet::link_type::KnownLinkType;
pub use pair::decoder::{PairDecoder, PairOptions};
pub use pseudonym::address_resolver::{AddressResolver, Resolved};
pub use pseudonym::keys::{AddressPolicy, Pseudonyms};
pub use pseudonym::prefix_table::PrefixTable;
pub use queue::decoder::{QueueLogDecoder, QueueLogOptions};
pub use queue::form::{KnownQueueLogForm, QueueLogForm};
pub use rtp::hints::RtpHint;
pub use server::name::ServerNames;

/// Version of the decoded facts: it changes whenever the same input may give other rows.
/// Not the version of the package, which changes with every release.
pub const VERSION: &str = "0.21.0";
