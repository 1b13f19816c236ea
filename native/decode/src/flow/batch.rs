//! Arrow batches of the tables flow, `flow_interval` and `rtp_stream`.

use arrow_array::RecordBatch;

use crate::flow::ecn::negotiation::Mode;
use crate::flow::interval::Interval;
use crate::flow::record::Flow;
use crate::flow::tcp::direction::TcpDirection;
use crate::output::columns::{Columns, Filled};
use crate::output::fault::Fault;
use crate::output::units::microseconds;
use crate::packet::direction::Direction;
use crate::packet::protocol::{has_ports, protocol_name};
use crate::packet::types::Endpoint;
use crate::rtp::carrier::{Encapsulation, Media};
use crate::rtp::stream::RtpStream;
use crate::server::flow_server::{HelloOutcome, NameSource, Server};
use crate::twos_complement::TwosComplement;

/// A row of `flow_interval`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IntervalRow {
    pub(crate) flow_id: i64,
    pub(crate) direction: Direction,
    pub(crate) interval: Interval,
}

/// A row of `rtp_stream`.
#[derive(Debug)]
pub(crate) struct RtpRow {
    pub(crate) flow_id: i64,
    pub(crate) direction: Direction,
    pub(crate) stream: RtpStream,
}

/// Flows that are looked at together for each column: what is kept of so many fits the processor's fastest memory.
const FLOWS_AT_A_TIME: usize = 16;

/// Add flows that have ended to a batch.
pub(crate) fn add_flows(mut filled: Filled, rows: &[Box<Flow>]) -> Filled {
    for few in rows.chunks(FLOWS_AT_A_TIME) {
        filled = add_few_flows(filled, few);
    }
    filled
}

fn add_few_flows(filled: Filled, rows: &[Box<Flow>]) -> Filled {
    let mut columns = Columns::onto(filled, rows);
    columns.int64("flow_id", |flow| flow.id);
    columns.int8("ip_version", |flow| flow.ip_version());
    columns.name("protocol", |flow| protocol_name(flow.protocol));
    endpoint(&mut columns, "initiator", |flow| &flow.initiator);
    endpoint(&mut columns, "responder", |flow| &flow.responder);
    columns.int64("first_packet_ns", |flow| flow.first_ns);
    columns.int64("last_packet_ns", |flow| flow.last_ns);
    columns.optional_string("tunnel", |flow| flow.tunnels.name());
    columns.name("end_reason", |flow| flow.end_reason.name());
    columns.optional_bool("starts_in_mid_flow", |flow| {
        flow.tcp.as_ref().map(|tcp| tcp.starts_in_mid_flow())
    });
    columns.optional_int64("handshake_rtt_us", |flow| {
        flow.tcp
            .as_ref()
            .and_then(|tcp| tcp.handshake_rtt_ns())
            .map(microseconds)
    });
    server_columns(&mut columns);
    for direction in [Direction::Fwd, Direction::Rev] {
        direction_columns(&mut columns, direction);
    }
    columns.into_filled()
}

/// The name of a column, which is put together for the first rows of a batch only.
struct Prefixed(&'static str, &'static str);

impl From<Prefixed> for String {
    fn from(Prefixed(prefix, name): Prefixed) -> Self {
        format!("{prefix}_{name}")
    }
}

fn endpoint(columns: &mut Columns<'_, Box<Flow>>, prefix: &'static str, end: impl Fn(&Flow) -> &Endpoint) {
    columns.address(Prefixed(prefix, "address"), |flow| end(flow).address);
    columns.optional_int32(Prefixed(prefix, "port"), |flow| {
        has_ports(flow.protocol).then(|| i32::from(end(flow).port))
    });
}

fn server_columns(columns: &mut Columns<'_, Box<Flow>>) {
    fn server(flow: &Flow) -> Option<&Server> {
        flow.server.as_deref()
    }
    columns.optional_string("server_name", |flow| server(flow)?.name.as_deref());
    columns.optional_string("server_name_source", |flow| {
        server(flow)?.source.map(NameSource::name)
    });
    columns.optional_string("client_hello_outcome", |flow| {
        server(flow)?.outcome.map(HelloOutcome::name)
    });
    columns.optional_bool("is_client_hello_encrypted", |flow| server(flow)?.encrypted_hello);
    columns.optional_string("tls_version_offered", |flow| server(flow)?.tls_version);
    columns.optional_string("quic_version", |flow| server(flow)?.quic_version);
    columns.optional_string("application_protocols_offered", |flow| {
        server(flow)?.alpn.as_deref()
    });
}

fn direction_columns(columns: &mut Columns<'_, Box<Flow>>, direction: Direction) {
    let name = |column| Prefixed(direction.name(), column);
    columns.int64(name("packets"), |flow| flow.traffic.get(direction).packets);
    columns.int64(name("bytes"), |flow| flow.traffic.get(direction).bytes);
    columns.int64(name("payload_bytes"), |flow| {
        flow.traffic.get(direction).payload_bytes
    });
    columns.int64(name("active_intervals"), |flow| {
        flow.traffic.get(direction).intervals.count()
    });
    columns.optional_int64(name("unique_payload_bytes"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.unique_payload_bytes)
    });
    columns.optional_int64(name("duplicate_packets"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.duplicate_packets)
    });
    columns.optional_int16(name("tcp_flags"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.flags.signed())
    });
    columns.optional_int64(name("retransmitted_packets"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.retransmitted_packets)
    });
    columns.optional_int64(name("spurious_retransmitted_packets"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.spurious_retransmitted_packets)
    });
    columns.optional_int64(name("out_of_order_packets"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.out_of_order_packets)
    });
    columns.optional_int64(name("duplicate_acknowledgements"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.duplicate_acknowledgements)
    });
    columns.optional_int64(name("sack_packets"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.sack_packets)
    });
    columns.optional_int64(name("dsack_packets"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.dsack_packets)
    });
    columns.optional_int64(name("zero_windows"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.zero_windows)
    });
    columns.int64(name("ecn_ce_packets"), |flow| {
        flow.traffic.get(direction).congestion_experienced_packets
    });
    columns.optional_int64(name("ecn_ece_packets"), |flow| {
        tcp(flow, direction)
            .filter(|_| !is_accurate(flow))
            .map(|tcp| tcp.ece_packets)
    });
    columns.optional_int64(name("ecn_cwr_packets"), |flow| {
        tcp(flow, direction)
            .filter(|_| !is_accurate(flow))
            .map(|tcp| tcp.cwr_packets)
    });
    columns.optional_int64(name("rtt_samples"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.rtt.samples())
    });
    columns.optional_int64(name("rtt_min_us"), |flow| tcp(flow, direction)?.rtt.min_us());
    columns.optional_float64(name("rtt_avg_us"), |flow| tcp(flow, direction)?.rtt.avg_us());
    columns.optional_int64(name("rtt_max_us"), |flow| tcp(flow, direction)?.rtt.max_us());
    columns.optional_float64(name("srtt_min_us"), |flow| {
        tcp(flow, direction)?.rtt.smoothed_min_us()
    });
    columns.optional_float64(name("srtt_avg_us"), |flow| {
        tcp(flow, direction)?.rtt.smoothed_avg_us()
    });
    columns.optional_float64(name("srtt_max_us"), |flow| {
        tcp(flow, direction)?.rtt.smoothed_max_us()
    });
    columns.optional_int64(name("timestamp_rtt_samples"), |flow| {
        tcp(flow, direction).map(|tcp| tcp.timestamp_rtt.samples())
    });
    columns.optional_int64(name("timestamp_rtt_min_us"), |flow| {
        tcp(flow, direction)?.timestamp_rtt.min_us()
    });
    columns.optional_float64(name("timestamp_rtt_avg_us"), |flow| {
        tcp(flow, direction)?.timestamp_rtt.avg_us()
    });
    columns.optional_int64(name("timestamp_rtt_max_us"), |flow| {
        tcp(flow, direction)?.timestamp_rtt.max_us()
    });
}

/// Whether ECE and CWR are bits of a counter in this flow.
fn is_accurate(flow: &Flow) -> bool {
    let ecn = flow.tcp.as_ref().and_then(|tcp| tcp.ecn.as_ref());
    ecn.is_some_and(|ecn| ecn.mode() == Mode::Accurate)
}

fn tcp(flow: &Flow, direction: Direction) -> Option<&TcpDirection> {
    flow.tcp.as_ref().map(|tcp| tcp.directions.get(direction))
}

pub(crate) fn intervals(rows: &[IntervalRow], interval_ms: i32) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.name("direction", |row| row.direction.name());
    columns.int64("interval_start_ns", |row| row.interval.start_ns);
    columns.int32("interval_ms", |_| interval_ms);
    columns.int64("packets", |row| row.interval.packets);
    columns.int64("bytes", |row| row.interval.bytes);
    columns.into_batch()
}

pub(crate) fn rtp_streams(rows: &[RtpRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("flow_id", |row| row.flow_id);
    columns.string("direction", |row| row.direction.name());
    columns.int64("ssrc", |row| i64::from(row.stream.ssrc));
    columns.int16("payload_type", |row| i16::from(row.stream.payload_type));
    columns.optional_string("encapsulation", |row| {
        row.stream.carrier.encapsulation.map(Encapsulation::name)
    });
    columns.optional_string("media_type", |row| row.stream.carrier.media.map(Media::name));
    columns.optional_int32("clock_rate_hz", |row| {
        row.stream.clock().map(|clock| clock.rate_hz)
    });
    columns.optional_string("clock_basis", |row| row.stream.clock().map(|clock| clock.basis));
    columns.int64("first_packet_ns", |row| row.stream.first_ns);
    columns.int64("last_packet_ns", |row| row.stream.last_ns);
    columns.int64("packets", |row| row.stream.packets);
    columns.int64("payload_bytes", |row| row.stream.payload_bytes);
    columns.int64("expected_packets", |row| row.stream.sequence.expected());
    columns.int64("lost_packets", |row| row.stream.sequence.lost());
    columns.int64("reordered_packets", |row| row.stream.reordered_packets);
    columns.int64("duplicate_packets", |row| row.stream.duplicate_packets);
    columns.optional_float64("jitter_ms", |row| row.stream.jitter_ms().map(|jitter| jitter.0));
    columns.optional_float64("jitter_mean_ms", |row| {
        row.stream.jitter_ms().map(|jitter| jitter.1)
    });
    columns.optional_float64("jitter_max_ms", |row| {
        row.stream.jitter_ms().map(|jitter| jitter.2)
    });
    columns.int64("frames", |row| row.stream.frames);
    columns.optional_float64("frame_rate_fps", |row| row.stream.frame_rate_fps());
    columns.optional_float64("rate_bps", |row| row.stream.rate_bps());
    columns.string("recognised_by", |row| {
        if row.stream.declared {
            "declared"
        } else {
            "heuristics"
        }
    });
    columns.into_batch()
}
