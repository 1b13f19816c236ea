//! Arrow batches of the table packet.

use arrow_array::RecordBatch;

use crate::flow::table::Placement;
use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::packet::types::{Packet, TcpSegment, Transport};
use crate::twos_complement::TwosComplement;

/// A row of `packet`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketRow {
    index: i64,
    time_ns: i64,
    placement: Placement,
    wire_bytes: u32,
    payload_bytes: u32,
    hop_limit: u8,
    ip_id: u32,
    congestion_experienced: bool,
    segment: Option<TcpSegment>,
}

impl PacketRow {
    pub(crate) fn new(
        index: i64,
        time_ns: i64,
        wire_bytes: u32,
        packet: &Packet<'_>,
        placement: Placement,
    ) -> Self {
        Self {
            index,
            time_ns,
            placement,
            wire_bytes,
            payload_bytes: packet.payload_bytes,
            hop_limit: packet.hop_limit,
            ip_id: packet.ip_id,
            congestion_experienced: packet.congestion_experienced(),
            segment: match packet.transport {
                Transport::Tcp(segment) => Some(segment),
                _ => None,
            },
        }
    }
}

pub(crate) fn packets(rows: &[PacketRow]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("packet_index", |row| row.index);
    columns.int64("flow_id", |row| row.placement.flow_id);
    columns.string("direction", |row| row.placement.direction.name());
    columns.int64("packet_ns", |row| row.time_ns);
    // A record of more than LARGEST_PACKET_BYTES is refused.
    columns.int32("packet_bytes", |row| row.wire_bytes.signed());
    columns.int64("payload_bytes", |row| i64::from(row.payload_bytes));
    columns.int16("hop_limit", |row| i16::from(row.hop_limit));
    columns.int64("ip_identification", |row| i64::from(row.ip_id));
    columns.optional_bool("congestion_experienced", |row| Some(row.congestion_experienced));
    columns.optional_int64("tcp_sequence", |row| {
        row.segment.map(|segment| i64::from(segment.sequence))
    });
    columns.optional_int64("tcp_acknowledgement", |row| {
        row.segment.map(|segment| i64::from(segment.acknowledgement))
    });
    columns.optional_int16("tcp_flags", |row| {
        row.segment.map(|segment| segment.flags.signed())
    });
    columns.optional_int32("tcp_window", |row| {
        row.segment.map(|segment| i32::from(segment.window))
    });
    columns.into_batch()
}
