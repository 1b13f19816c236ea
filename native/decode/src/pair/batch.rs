//! Arrow batches of the tables `packet_pair`, `flow_pair` and `capture_pair`.

use arrow_array::RecordBatch;

use crate::output::address_text::AddressText;
use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::output::units::microseconds;
use crate::packet::protocol::{has_ports, protocol_name};
use crate::packet::types::Endpoint;
use crate::pair::flows::DirectedFlow;
use crate::pair::sighting::PairedPacket;
use crate::pair::sums::{FlowSums, PairSums};

type PacketRow = (PairedPacket, DirectedFlow);

fn ends<R>(columns: &mut Columns<'_, R>, flow: impl Fn(&R) -> &DirectedFlow) {
    columns.string("protocol", |row| protocol_name(flow(row).protocol));
    let end =
        |source: bool, row: &DirectedFlow| -> Endpoint { if source { row.source } else { row.destination } };
    for (prefix, source) in [("source", true), ("destination", false)] {
        columns.optional_string(format!("{prefix}_address"), |row| {
            Some(AddressText::of(end(source, flow(row)).address))
        });
        columns.optional_int32(format!("{prefix}_port"), |row| {
            has_ports(flow(row).protocol).then(|| i32::from(end(source, flow(row)).port))
        });
    }
}

pub(crate) fn packets(
    packets: &[PairedPacket],
    flows: &[DirectedFlow],
    sums: &PairSums,
) -> Result<RecordBatch, Fault> {
    let rows: Vec<PacketRow> = packets
        .iter()
        .filter_map(|packet| Some((*packet, *flows.get(packet.flow as usize)?)))
        .collect();
    let mut columns = Columns::over(&rows);
    columns.int64("packet_index", |row| row.0.index);
    columns.string("fate", |row| sums.fate(&row.0).name());
    columns.optional_int64("before_ns", |row| row.0.before_ns);
    columns.optional_int64("after_ns", |row| row.0.after_ns);
    columns.optional_int64("queuing_delay_ns", |row| sums.queuing_delay_ns(&row.0));
    columns.int32("packet_bytes", |row| {
        i32::try_from(row.0.wire_bytes).unwrap_or(i32::MAX)
    });
    ends(&mut columns, |row| &row.1);
    columns.int64("ip_identification", |row| i64::from(row.0.ip_id));
    columns.optional_int64("transport_word", |row| row.0.transport_word.map(i64::from));
    columns.into_batch()
}

fn counts<R>(columns: &mut Columns<'_, R>, sums: impl Fn(&R) -> &FlowSums) {
    columns.int64("sent_packets", |row| sums(row).sent);
    columns.int64("delivered_packets", |row| sums(row).delivered);
    columns.int64("dropped_packets", |row| sums(row).dropped);
    columns.int64("in_flight_at_end_packets", |row| sums(row).in_flight_at_end);
    columns.int64("not_seen_before_packets", |row| sums(row).not_seen_before);
    columns.optional_int64("queuing_delay_min_us", |row| {
        sums(row).delay_min_ns.map(microseconds)
    });
    columns.optional_float64("queuing_delay_avg_us", |row| sums(row).delay_mean_us());
    columns.optional_int64("queuing_delay_max_us", |row| {
        sums(row).delay_max_ns.map(microseconds)
    });
}

/// Flows with their numbers in the pair.
pub(crate) fn flows(rows: &[(usize, (DirectedFlow, FlowSums))]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int32("flow_number", |row| i32::try_from(row.0).unwrap_or(i32::MAX));
    ends(&mut columns, |row| &row.1.0);
    counts(&mut columns, |row| &row.1.1);
    columns.into_batch()
}

pub(crate) fn pair(sums: &PairSums) -> Result<RecordBatch, Fault> {
    let rows = [sums.clone()];
    let mut columns = Columns::over(&rows);
    columns.int64("bandwidth_bps", |row| row.rate_bps);
    columns.optional_int64("shaper_burst_bytes", |row| row.burst_bytes.map(i64::from));
    columns.int64("before_packets", |row| row.before_packets);
    columns.int64("after_packets", |row| row.after_packets);
    counts(&mut columns, |row| &row.all);
    columns.int64("reverse_matched_packets", |row| row.reverse_matched);
    columns.optional_int64("delay_floor_ns", |row| row.delay_floor_ns);
    columns.optional_int64("delay_floor_low_by_at_most_ns", |row| {
        row.floor_low_by_at_most_ns()
    });
    columns.optional_int64("clock_offset_ns", |row| row.clock.offset_ns);
    columns.optional_float64("clock_drift_ppm", |row| row.clock.drift_ppm);
    columns.optional_float64("clock_residual_ns", |row| row.clock.residual_ns);
    columns.into_batch()
}
