//! Arrow batches of polled sockets: one row for each poll, or one for each connection.

use arrow_array::RecordBatch;

use crate::connection::tcp_info::record::Poll;
use crate::output::columns::Columns;
use crate::output::fault::Fault;

/// One connection, from all its polls.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ConnectionRow {
    pub(crate) number: i64,
    pub(crate) start_ns: i64,
    pub(crate) last_ns: i64,
    pub(crate) client_address: String,
    pub(crate) rtt_polls: i64,
    pub(crate) rtt_sum_us: u64,
    pub(crate) rtt_min_us: Option<u32>,
    pub(crate) rtt_max_us: Option<u32>,
    pub(crate) kernel_min_rtt_us: Option<u32>,
    pub(crate) sent_bytes: Option<u64>,
    pub(crate) acked_bytes: Option<u64>,
    pub(crate) received_bytes: Option<u64>,
    pub(crate) retransmitted_packets: Option<u32>,
    pub(crate) congestion_control: Option<String>,
}

fn signed(value: Option<u64>) -> Option<i64> {
    value.and_then(|value| i64::try_from(value).ok())
}

/// The columns of `connection` that polls decide on, with the client's plain address.
pub(crate) fn connections(rows: &[ConnectionRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("connection_number", |row| row.number);
    columns.int64("start_ns", |row| row.start_ns);
    // Two times that 64 bits hold may lie further apart than 64 bits do.
    columns.float64("duration_ms", |row| {
        (i128::from(row.last_ns) - i128::from(row.start_ns)) as f64 / 1e6
    });
    columns.string("client_address", |row| row.client_address.as_str());
    columns.int64("rtt_samples", |row| row.rtt_polls);
    columns.optional_int64("rtt_min_us", |row| row.rtt_min_us.map(i64::from));
    columns.optional_float64("rtt_avg_us", |row| {
        (row.rtt_polls > 0).then(|| row.rtt_sum_us as f64 / row.rtt_polls as f64)
    });
    columns.optional_int64("rtt_max_us", |row| row.rtt_max_us.map(i64::from));
    columns.optional_int64("kernel_min_rtt_us", |row| row.kernel_min_rtt_us.map(i64::from));
    columns.optional_int64("sent_bytes", |row| signed(row.sent_bytes));
    columns.optional_int64("acked_bytes", |row| signed(row.acked_bytes));
    columns.optional_int64("received_bytes", |row| signed(row.received_bytes));
    columns.optional_int64("retransmitted_packets", |row| {
        row.retransmitted_packets.map(i64::from)
    });
    columns.optional_string("congestion_control", |row| row.congestion_control.as_deref());
    columns.into_batch()
}

/// Every poll as it is, for comparison with other tools.
pub(crate) fn polls(rows: &[Poll]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.optional_int64("poll_start_ns", |poll| poll.time_ns);
    columns.string("local_address", |poll| poll.socket.local.to_string());
    columns.int32("local_port", |poll| i32::from(poll.socket.local_port));
    columns.string("peer_address", |poll| poll.socket.peer.to_string());
    columns.int32("peer_port", |poll| i32::from(poll.socket.peer_port));
    columns.optional_string("congestion_control", |poll| poll.congestion_control.as_deref());
    columns.optional_int32("state", |poll| poll.info?.state.map(i32::from));
    let number = |field: fn(&crate::connection::tcp_info::structure::TcpInfo) -> Option<u64>| {
        move |poll: &Poll| signed(poll.info.as_ref().and_then(field))
    };
    columns.optional_int64("rtt_us", number(|info| info.rtt_us.map(u64::from)));
    columns.optional_int64("rttvar_us", number(|info| info.rttvar_us.map(u64::from)));
    columns.optional_int64("min_rtt_us", number(|info| info.min_rtt_us.map(u64::from)));
    columns.optional_int64("mss_bytes", number(|info| info.sending_mss_bytes.map(u64::from)));
    columns.optional_int64(
        "unacked_packets",
        number(|info| info.unacked_packets.map(u64::from)),
    );
    columns.optional_int64("lost_packets", number(|info| info.lost_packets.map(u64::from)));
    columns.optional_int64("cwnd_packets", number(|info| info.cwnd_packets.map(u64::from)));
    columns.optional_int64(
        "retransmitted_packets",
        number(|info| info.total_retransmits.map(u64::from)),
    );
    columns.optional_int64("acked_bytes", number(|info| info.acked_bytes));
    columns.optional_int64("received_bytes", number(|info| info.received_bytes));
    columns.optional_int64("sent_bytes", number(|info| info.sent_bytes));
    columns.optional_int64("retransmitted_bytes", number(|info| info.retransmitted_bytes));
    columns.optional_int64(
        "delivery_rate_bytes_per_s",
        number(|info| info.delivery_rate_bytes_per_s),
    );
    columns.into_batch()
}
