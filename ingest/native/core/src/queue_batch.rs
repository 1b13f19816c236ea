//! Arrow batches of the tables `queue_event` and `queue_log`.

use std::net::Ipv4Addr;

use arrow_array::RecordBatch;

use crate::columns::Columns;
use crate::fault::Fault;
use crate::layers::protocol_name;
use crate::queue_event::NetworkFields;
use crate::queue_pairing::QueuedPacket;

/// The clock of the probe, `bpf_ktime_get_ns`.
const CLOCK: &str = "monotonic";

/// The row of `queue_log`.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueLogRow {
    pub(crate) enqueue_events: i64,
    pub(crate) dequeue_events: i64,
    pub(crate) drop_events: i64,
    pub(crate) lost_events: i64,
    pub(crate) first_event_ns: Option<i64>,
    pub(crate) last_event_ns: Option<i64>,
}

pub(crate) fn queue_events(rows: &[QueuedPacket]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int64("packet_index", |packet| packet.index);
    columns.string("fate", |packet| packet.fate.name());
    columns.optional_int64("enqueue_ns", |packet| {
        packet.enqueue.map(|enqueue| enqueue.time_ns)
    });
    columns.optional_int64("dequeue_ns", |packet| {
        packet.dequeue.map(|dequeue| dequeue.time_ns)
    });
    columns.optional_int64("drop_ns", |packet| packet.drop.as_ref().map(|drop| drop.time_ns));
    columns.string("clock", |_| CLOCK);
    columns.optional_int64("sojourn_ns", |packet| packet.sojourn_ns);
    columns.optional_string("drop_kind", |packet| packet.drop.as_ref().map(|drop| drop.kind));
    columns.optional_int32("drop_reason", |packet| {
        packet.drop.as_ref().map(|drop| drop.reason)
    });
    columns.optional_string("drop_location", |packet| {
        packet.drop.as_ref()?.location.as_deref()
    });
    columns.int32("packet_bytes", |packet| packet.packet_bytes);
    columns.optional_int32("enqueue_queue_packets", |packet| {
        packet.enqueue.map(|enqueue| enqueue.packets)
    });
    columns.optional_int64("enqueue_queue_bytes", |packet| {
        packet.enqueue.map(|enqueue| enqueue.bytes)
    });
    columns.optional_int32("dequeue_queue_packets", |packet| {
        packet.dequeue.map(|dequeue| dequeue.packets)
    });
    columns.optional_int64("dequeue_queue_bytes", |packet| {
        packet.dequeue.map(|dequeue| dequeue.bytes)
    });
    columns.optional_int32("interface_index", |packet| Some(packet.interface_index));
    columns.optional_int64("network_namespace", |packet| Some(packet.network_namespace));
    columns.int32("ethertype", |packet| i32::from(packet.ethertype));
    columns.optional_string("protocol", |packet| {
        packet
            .network
            .as_ref()
            .map(|network| protocol_name(network.protocol))
    });
    endpoint(&mut columns, "source", |network| {
        (network.source, network.ports.map(|ports| ports.0))
    });
    endpoint(&mut columns, "destination", |network| {
        (network.destination, network.ports.map(|ports| ports.1))
    });
    columns.optional_int32("ip_id", |packet| {
        packet.network.as_ref().map(|network| i32::from(network.ip_id))
    });
    columns.optional_int64("transport_word", |packet| {
        packet.network.as_ref()?.transport_word.map(i64::from)
    });
    columns.into_batch()
}

fn endpoint(
    columns: &mut Columns<'_, QueuedPacket>,
    prefix: &str,
    end: impl Fn(&NetworkFields) -> (Ipv4Addr, Option<u16>),
) {
    columns.optional_string(format!("{prefix}_address"), |packet| {
        packet.network.as_ref().map(|network| end(network).0.to_string())
    });
    columns.optional_int32(format!("{prefix}_port"), |packet| {
        end(packet.network.as_ref()?).1.map(i32::from)
    });
}

pub(crate) fn queue_log(row: QueueLogRow) -> Result<RecordBatch, Fault> {
    let rows = [row];
    let mut columns = Columns::over(&rows);
    columns.int64("enqueue_events", |log| log.enqueue_events);
    columns.int64("dequeue_events", |log| log.dequeue_events);
    columns.int64("drop_events", |log| log.drop_events);
    columns.int64("lost_events", |log| log.lost_events);
    columns.optional_int64("first_event_ns", |log| log.first_event_ns);
    columns.optional_int64("last_event_ns", |log| log.last_event_ns);
    columns.string("clock", |_| CLOCK);
    columns.into_batch()
}
