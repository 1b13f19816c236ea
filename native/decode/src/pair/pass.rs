//! One pass over both captures, side by side.

use crate::capture::recording::{CaptureInput, RecordingReader};
use crate::output::fault::Fault;
use crate::output::summary::Summary;
use crate::packet::layers::LayerDecoder;
use crate::packet::refusal::PacketRefusal;
use crate::packet::types::{Packet, Transport};
use crate::pair::flows::{DirectedFlow, FlowNumbers};
use crate::pair::matcher::{Bounds, Matcher};
use crate::pair::refusal::PairRefusal;
use crate::pair::sighting::{
    PacketKey, PairedPacket, Point, Sighting, cut_key_bytes, segment_bytes, timestamp, transport_word,
};

/// One of the two captures, as far as it was read.
pub(crate) struct Side {
    pub(crate) recording: RecordingReader,
    layers: LayerDecoder,
    point: Point,
    first_ns: Option<i64>,
    pub(crate) last_ns: i64,
    pub(crate) records: u64,
    /// A capture that still grows must not give the second pass more than the first one saw.
    records_at_most: u64,
    pub(crate) packets: i64,
}

impl Side {
    fn open(inputs: &[CaptureInput], point: Point, records_at_most: u64) -> Result<Self, Fault> {
        Ok(Self {
            recording: RecordingReader::open(inputs)?,
            layers: LayerDecoder::default(),
            point,
            first_ns: None,
            last_ns: i64::MIN,
            records: 0,
            records_at_most,
            packets: 0,
        })
    }

    fn ended(&self) -> bool {
        self.recording.file.is_none() || self.records >= self.records_at_most
    }

    fn elapsed_ns(&self) -> i64 {
        self.first_ns
            .map_or(i64::MIN, |first_ns| self.last_ns.saturating_sub(first_ns))
    }

    /// Read one record; a packet of it goes to the matcher, and so do the fragments that waited for it.
    fn read(&mut self, flows: &mut FlowNumbers, matcher: &mut Matcher, sink: &mut impl FnMut(PairedPacket)) {
        let (Some(reader), Some((summary, summaries_before))) = (
            &mut self.recording.file,
            self.recording.summaries.split_last_mut(),
        ) else {
            return;
        };
        let captured = match reader.next_packet() {
            Ok(Some(captured)) => captured,
            Ok(None) => return self.recording.end_file(None),
            Err(fault) => return self.recording.end_file(Some(fault)),
        };
        self.records += 1;
        if let Some(reason) = captured.implausible() {
            return summary.refuse(reason);
        }
        self.first_ns.get_or_insert(captured.time_ns);
        self.last_ns = self.last_ns.max(captured.time_ns);
        let mut sighted = |packet: &Packet<'_>, time_ns: i64, wire_bytes: u32, summary: &mut Summary| {
            let Some(flow) = flows.number(DirectedFlow::of(packet)) else {
                return summary.refuse(PairRefusal::TooManyFlows);
            };
            if flows.is_given_up(flow) {
                // They were refused after the pass before.
                return;
            }
            summary.records_read += 1;
            let sighting = Sighting {
                point: self.point,
                index: self.packets,
                time_ns,
                wire_bytes,
                hop_limit: packet.hop_limit,
                transport_word: transport_word(packet),
                segment_bytes: segment_bytes(packet),
            };
            self.packets += 1;
            if let Some(bytes) = cut_key_bytes(packet) {
                flows.cut(flow, self.point, bytes);
            }
            if timestamp(packet).is_some() {
                flows.stamped(flow);
            }
            let key = PacketKey::of(packet, flow, flows.key_bytes(flow), flows.by_timestamp(flow));
            let is_alone = packet.ip_id == 0 && !matches!(packet.transport, Transport::Tcp(_));
            flows.sighted(flow, self.point, is_alone.then_some(key.words));
            matcher.sighted(key, sighting, sink);
        };
        match self.layers.decode(&captured) {
            Ok(packet) => sighted(&packet, captured.time_ns, captured.wire_bytes, summary),
            Err(reason) => {
                summary.refuse(reason);
                if reason == PacketRefusal::IpFragment {
                    self.layers.hold(&captured, (0, summaries_before.len()));
                }
            }
        }
        for fragment in self.layers.take_released().into_iter().flatten() {
            let of_file = summaries_before.get_mut(fragment.file).unwrap_or(&mut *summary);
            of_file.give_back(PacketRefusal::IpFragment);
            sighted(&fragment.packet(), fragment.time_ns, fragment.wire_bytes, of_file);
        }
    }
}

/// Both captures, read side by side.
pub(crate) struct Pass {
    pub(crate) before: Side,
    pub(crate) after: Side,
    matcher: Matcher,
}

impl Pass {
    pub(crate) fn open(
        before: &[CaptureInput],
        after: &[CaptureInput],
        bounds: Bounds,
        records_at_most: (u64, u64),
    ) -> Result<Self, Fault> {
        Ok(Self {
            before: Side::open(before, Point::Before, records_at_most.0)?,
            after: Side::open(after, Point::After, records_at_most.1)?,
            matcher: Matcher::new(bounds),
        })
    }

    /// Read one record; whether there was one.
    pub(crate) fn read(&mut self, flows: &mut FlowNumbers, sink: &mut impl FnMut(PairedPacket)) -> bool {
        let (before, after) = (&mut self.before, &mut self.after);
        if before.ended() && after.ended() {
            self.matcher.finish(sink);
            return false;
        }
        let first = !before.ended() && (after.ended() || before.elapsed_ns() <= after.elapsed_ns());
        let side = if first { before } else { after };
        side.read(flows, &mut self.matcher, sink);
        true
    }
}
