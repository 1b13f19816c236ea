//! Arrow batches of the table `queue_packet`, under construction packet by packet.
//!
//! Columns of text are dictionaries: a batch names few flows, so each text is made, hashed and replaced once.

use std::net::IpAddr;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, Int64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use hashbrown::HashMap;

use crate::output::fault::{Fault, FaultKind};
use crate::packet::protocol::protocol_name;
use crate::queue::batch::QueueRow;
use crate::queue::event::{Codepoint, NetworkFields};
use crate::queue::flow::QueueFlow;
use crate::queue::queued_packet::{Fate, PacketDrop, QueueState, QueuedPacket};

/// A column of texts that repeat: the number of each row's text among those of the batch.
#[derive(Default)]
struct TextColumn {
    places: Int32Builder,
    numbers: HashMap<Box<str>, i32>,
    texts: Vec<Box<str>>,
}

impl TextColumn {
    /// The number of a text.
    fn number(&mut self, text: &str) -> i32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = i32::try_from(self.texts.len()).unwrap_or(i32::MAX);
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        number
    }

    fn append(&mut self, text: Option<&str>) {
        let number = text.map(|text| self.number(text));
        self.places.append_option(number);
    }

    fn finish(&mut self) -> Result<DictionaryArray<Int32Type>, arrow_schema::ArrowError> {
        self.numbers.clear();
        let texts = StringArray::from_iter_values(self.texts.drain(..));
        DictionaryArray::try_new(self.places.finish(), Arc::new(texts))
    }
}

/// Of a flow, the numbers of its texts and its ports.
#[derive(Debug, Clone, Copy, Default)]
struct FlowColumns {
    protocol: i32,
    source: i32,
    destination: i32,
    ports: Option<(i32, i32)>,
}

/// Time and length of the queue at one end of a packet's stay.
#[derive(Default)]
struct StateColumns {
    time_ns: Int64Builder,
    packets: Int32Builder,
    bytes: Int64Builder,
}

impl StateColumns {
    fn append(&mut self, state: Option<&QueueState>) {
        self.time_ns.append_option(state.map(|state| state.time_ns));
        self.packets.append_option(state.and_then(|state| state.packets));
        self.bytes.append_option(state.and_then(|state| state.bytes));
    }
}

/// Rows of `queue_packet` that are not a batch yet.
#[derive(Default)]
pub(crate) struct QueuePacketBatch {
    rows: usize,
    packet_index: Int64Builder,
    queue_number: Int32Builder,
    fate: Int32Builder,
    enqueue: StateColumns,
    dequeue: StateColumns,
    drop: StateColumns,
    sojourn_ns: Int64Builder,
    drop_kind: TextColumn,
    drop_reason: Int32Builder,
    drop_location: TextColumn,
    packet_bytes: Int32Builder,
    ecn_ce: BooleanBuilder,
    ecn_ce_at_enqueue: BooleanBuilder,
    ecn_codepoint_at_enqueue: TextColumn,
    interface_index: Int32Builder,
    network_namespace: Int64Builder,
    ethertype: Int32Builder,
    flows: HashMap<Arc<QueueFlow>, FlowColumns>,
    protocol: TextColumn,
    source_address: TextColumn,
    source_port: Int32Builder,
    destination_address: TextColumn,
    destination_port: Int32Builder,
    flow_label: TextColumn,
    ip_id: Int32Builder,
    transport_word: Int64Builder,
}

impl QueuePacketBatch {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn append(&mut self, packet: &QueuedPacket, queues: &[QueueRow]) {
        self.rows += 1;
        self.packet_index.append_value(packet.index);
        self.queue_number.append_value(packet.queue as i32);
        self.fate.append_value(packet.fate as i32);
        self.enqueue.append(packet.enqueue.as_ref());
        self.dequeue.append(packet.dequeue.as_ref());
        self.append_drop(packet.drop.as_deref());
        self.sojourn_ns.append_option(packet.sojourn_ns);
        self.packet_bytes.append_option(packet.packet_bytes);
        self.ecn_ce.append_option(packet.ecn_ce());
        self.ecn_ce_at_enqueue
            .append_option(packet.enqueue.as_ref().and_then(|enqueue| enqueue.ecn_ce));
        let codepoint = packet.enqueue.as_ref().and_then(|enqueue| enqueue.codepoint);
        self.ecn_codepoint_at_enqueue
            .append(codepoint.map(Codepoint::name));
        let queue = queues.get(packet.queue as usize).map(|queue| &queue.id);
        self.interface_index
            .append_option(queue.and_then(|queue| queue.interface_index));
        self.network_namespace
            .append_option(queue.and_then(|queue| queue.network_namespace));
        self.ethertype.append_option(packet.ethertype.map(i32::from));
        self.append_network(packet.network.as_ref());
        self.flow_label.append(packet.flow_label.as_deref());
    }

    fn append_drop(&mut self, drop: Option<&PacketDrop>) {
        self.drop.append(drop.map(|drop| &drop.state));
        let cause = drop.and_then(|drop| drop.cause.as_deref());
        self.drop_kind.append(cause.and_then(|cause| cause.kind));
        self.drop_reason
            .append_option(cause.and_then(|cause| cause.reason));
        self.drop_location
            .append(cause.and_then(|cause| cause.location.as_deref()));
    }

    fn append_network(&mut self, network: Option<&NetworkFields>) {
        let flow = network.map(|network| self.flow(&network.flow));
        self.protocol.places.append_option(flow.map(|flow| flow.protocol));
        self.source_address
            .places
            .append_option(flow.map(|flow| flow.source));
        self.destination_address
            .places
            .append_option(flow.map(|flow| flow.destination));
        let ports = flow.and_then(|flow| flow.ports);
        self.source_port.append_option(ports.map(|ports| ports.0));
        self.destination_port.append_option(ports.map(|ports| ports.1));
        self.ip_id
            .append_option(network.and_then(|network| network.ip_id).map(i32::from));
        self.transport_word
            .append_option(network.and_then(|network| network.transport_word).map(i64::from));
    }

    fn flow(&mut self, flow: &Arc<QueueFlow>) -> FlowColumns {
        if let Some(columns) = self.flows.get(flow) {
            return *columns;
        }
        let of = |column: &mut TextColumn, address: IpAddr| column.number(&address.to_string());
        let columns = FlowColumns {
            protocol: self.protocol.number(&protocol_name(flow.protocol)),
            source: of(&mut self.source_address, flow.source),
            destination: of(&mut self.destination_address, flow.destination),
            ports: flow.ports.map(|(from, to)| (from.into(), to.into())),
        };
        self.flows.insert(Arc::clone(flow), columns);
        columns
    }

    /// Take the rows as a batch.
    pub(crate) fn finish(&mut self, clock: &'static str) -> Result<RecordBatch, Fault> {
        self.columns(clock)
            .map_err(|error| Fault::new(FaultKind::Batch, format!("arrow batch: {error}"), None))
    }

    fn columns(&mut self, clock: &'static str) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let fates = StringArray::from_iter_values(Fate::ALL.map(Fate::name));
        let fate = DictionaryArray::<Int32Type>::try_new(self.fate.finish(), Arc::new(fates))?;
        let clock = DictionaryArray::<Int32Type>::try_new(
            Int32Array::from(vec![0; self.rows]),
            Arc::new(StringArray::from_iter_values([clock])),
        )?;
        let columns: [(&str, bool, ArrayRef); 32] = [
            ("packet_index", false, Arc::new(self.packet_index.finish())),
            ("queue_number", false, Arc::new(self.queue_number.finish())),
            ("fate", false, Arc::new(fate)),
            ("enqueue_ns", true, Arc::new(self.enqueue.time_ns.finish())),
            ("dequeue_ns", true, Arc::new(self.dequeue.time_ns.finish())),
            ("drop_ns", true, Arc::new(self.drop.time_ns.finish())),
            ("clock", false, Arc::new(clock)),
            ("sojourn_ns", true, Arc::new(self.sojourn_ns.finish())),
            ("drop_kind", true, Arc::new(self.drop_kind.finish()?)),
            ("drop_reason", true, Arc::new(self.drop_reason.finish())),
            ("drop_location", true, Arc::new(self.drop_location.finish()?)),
            ("packet_bytes", true, Arc::new(self.packet_bytes.finish())),
            (
                "enqueue_queue_packets",
                true,
                Arc::new(self.enqueue.packets.finish()),
            ),
            ("enqueue_queue_bytes", true, Arc::new(self.enqueue.bytes.finish())),
            (
                "dequeue_queue_packets",
                true,
                Arc::new(self.dequeue.packets.finish()),
            ),
            ("dequeue_queue_bytes", true, Arc::new(self.dequeue.bytes.finish())),
            ("drop_queue_packets", true, Arc::new(self.drop.packets.finish())),
            ("drop_queue_bytes", true, Arc::new(self.drop.bytes.finish())),
            ("ecn_ce", true, Arc::new(self.ecn_ce.finish())),
            (
                "ecn_ce_at_enqueue",
                true,
                Arc::new(self.ecn_ce_at_enqueue.finish()),
            ),
            (
                "ecn_codepoint_at_enqueue",
                true,
                Arc::new(self.ecn_codepoint_at_enqueue.finish()?),
            ),
            ("interface_index", true, Arc::new(self.interface_index.finish())),
            (
                "network_namespace",
                true,
                Arc::new(self.network_namespace.finish()),
            ),
            ("ethertype", true, Arc::new(self.ethertype.finish())),
            ("protocol", true, Arc::new(self.protocol.finish()?)),
            ("source_address", true, Arc::new(self.source_address.finish()?)),
            ("source_port", true, Arc::new(self.source_port.finish())),
            (
                "destination_address",
                true,
                Arc::new(self.destination_address.finish()?),
            ),
            ("destination_port", true, Arc::new(self.destination_port.finish())),
            ("flow_label", true, Arc::new(self.flow_label.finish()?)),
            ("ip_id", true, Arc::new(self.ip_id.finish())),
            ("transport_word", true, Arc::new(self.transport_word.finish())),
        ];
        self.rows = 0;
        self.flows.clear();
        let field = |(name, nullable, array): &(&str, bool, ArrayRef)| {
            Field::new(*name, array.data_type().clone(), *nullable)
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
        RecordBatch::try_new(Arc::new(schema), arrays)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::queue::event::{EventKind, QueueEvent};

    fn packet(index: i64, source: &str, label: Option<&str>) -> QueuedPacket {
        let flow = QueueFlow {
            source: source.parse().unwrap(),
            destination: "10.0.0.9".parse().unwrap(),
            protocol: 17,
            ports: None,
        };
        let mut event = QueueEvent {
            network: Some(NetworkFields {
                flow: Arc::new(flow),
                ip_id: Some(7),
                transport_word: None,
            }),
            flow_label: label.map(Into::into),
            ..QueueEvent::new(EventKind::Enqueue, 5, 1)
        };
        QueuedPacket::new(index, 0, &mut event)
    }

    fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
        let column = batch.column_by_name(name).unwrap().as_dictionary::<Int32Type>();
        let texts = column.values().as_string::<i32>();
        (0..column.len())
            .map(|row| column.key(row).map(|key| texts.value(key).to_owned()))
            .collect()
    }

    #[test]
    fn each_batch_has_the_texts_of_its_own_rows_each_once() {
        let mut batch = QueuePacketBatch::default();
        for (index, source) in ["10.0.0.1", "2001:db8::1", "10.0.0.1"].iter().enumerate() {
            batch.append(&packet(index as i64, source, None), &[]);
        }
        let first = batch.finish("utc").unwrap();
        batch.append(&packet(3, "10.0.0.2", Some("voice")), &[]);
        let second = batch.finish("utc").unwrap();
        let some = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| Some((*text).to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&first, "source_address"),
            some(&["10.0.0.1", "2001:db8::1", "10.0.0.1"])
        );
        let source_addresses = first.column_by_name("source_address").unwrap();
        assert_eq!(source_addresses.as_dictionary::<Int32Type>().values().len(), 2);
        assert_eq!(texts(&first, "flow_label"), [None, None, None]);
        assert_eq!(texts(&first, "fate"), vec![Some("queued_at_end".to_owned()); 3]);
        assert_eq!(texts(&second, "source_address"), some(&["10.0.0.2"]));
        assert_eq!(texts(&second, "flow_label"), some(&["voice"]));
        assert_eq!((second.num_rows(), batch.rows()), (1, 0));
    }
}
