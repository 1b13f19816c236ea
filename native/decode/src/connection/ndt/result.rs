//! What one result of a speed test comes to.

use std::borrow::Cow;

/// One direction of one test, as columns of `connection` with the client's plain address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NdtConnection {
    /// Start of the direction (ns, UTC epoch).
    pub start_ns: Option<i64>,
    /// Its duration (ms).
    pub duration_ms: Option<f64>,
    /// Client.
    pub client_address: Option<String>,
    /// Polls with an RTT; `None` where the test did not poll.
    pub rtt_samples: Option<i64>,
    /// Least RTT (us).
    pub rtt_min_us: Option<i64>,
    /// Mean RTT (us).
    pub rtt_avg_us: Option<f64>,
    /// Greatest RTT (us).
    pub rtt_max_us: Option<i64>,
    /// The kernel's windowed minimum (us).
    pub kernel_min_rtt_us: Option<i64>,
    /// Payload bytes sent.
    pub sent_bytes: Option<i64>,
    /// Payload bytes acknowledged.
    pub acked_bytes: Option<i64>,
    /// Payload bytes received.
    pub received_bytes: Option<i64>,
    /// Segments retransmitted.
    pub retransmitted_packets: Option<i64>,
    /// Whether the polls hold what only BBR gives.
    pub bbr: bool,
}

/// What one result came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NdtResult {
    /// Directions that the result has.
    pub directions: u64,
    /// Why directions have no connection.
    pub refused: Vec<Cow<'static, str>>,
    /// Connections.
    pub connections: Vec<NdtConnection>,
}
