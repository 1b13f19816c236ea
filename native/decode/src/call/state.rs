//! What is kept of the call in one flow, and how payloads come into it.

use crate::call::carried::Carried;
use crate::call::framing::Framing;
use crate::call::message::{self, Message};
use crate::call::report::Reports;
use crate::call::rtcp;
use crate::call::signalling::{Dtls, Stun};
use crate::call::zoom::ZoomMedia;
use crate::packet::direction::{Direction, PerDirection};
use crate::packet::types::Packet;
use crate::rtp::carrier::{Carrier, Encapsulation};
use crate::rtp::hints::{Declared, Reading};
use crate::rtp::stream::{RtpDirection, RtpPacket};

/// A payload, what TURN carries in it, and what Zoom wraps in that.
const LEVELS: usize = 3;

/// All that a flow has of a call beside its RTP.
#[derive(Debug, Default)]
pub(crate) struct CallState {
    pub(crate) stun: Stun,
    pub(crate) dtls: Dtls,
    pub(crate) reports: Reports,
    pub(crate) channel_packets: i64,
    pub(crate) indication_packets: i64,
    pub(crate) zoom_server_packets: i64,
    pub(crate) zoom_peer_packets: i64,
    pub(crate) zoom_repair_packets: i64,
    /// Messages that were recognised inside of what TURN carries.
    pub(crate) relayed_messages: i64,
    framing: PerDirection<Framing>,
}

impl CallState {
    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.stun.kept_bytes()
            + self.reports.kept_bytes()
            + self.framing.fwd.kept_bytes()
            + self.framing.rev.kept_bytes()
    }

    /// Take a message, and give what it carries.
    fn take<'p>(
        &mut self,
        message: Message<'p>,
        relayed: bool,
        way: Direction,
        time_ns: i64,
    ) -> Option<Carried<'p>> {
        self.relayed_messages += i64::from(relayed);
        match message {
            // Checks between the ends through a relay are not messages to it.
            Message::Stun(_) if relayed => None,
            Message::Stun(message) => {
                self.stun.take(&message, way, time_ns);
                self.indication_packets += i64::from(message.data.is_some());
                message.data
            }
            Message::Channel(carried) => {
                self.channel_packets += 1;
                Some(carried)
            }
            Message::Dtls(records) => {
                self.dtls.take(records, way, time_ns);
                None
            }
            Message::Rtcp(rtcp) => {
                self.reports.take(&rtcp, way, time_ns);
                None
            }
            Message::Zoom(media) => self.take_zoom(media, way, time_ns),
        }
    }

    fn take_zoom<'p>(&mut self, media: ZoomMedia<'p>, way: Direction, time_ns: i64) -> Option<Carried<'p>> {
        let (ZoomMedia::Rtp(carried) | ZoomMedia::Repair(carried) | ZoomMedia::Rtcp(carried)) = media;
        match carried.carrier.encapsulation {
            Some(Encapsulation::ZoomServer) => self.zoom_server_packets += 1,
            _ => self.zoom_peer_packets += 1,
        }
        match media {
            ZoomMedia::Rtp(carried) => Some(carried),
            ZoomMedia::Repair(_) => {
                self.zoom_repair_packets += 1;
                None
            }
            ZoomMedia::Rtcp(carried) => {
                let rtcp = rtcp::datagram(carried.bytes, carried.payload_bytes)?;
                self.reports.take(&rtcp, way, time_ns);
                None
            }
        }
    }
}

/// The parts of a flow into which its payloads come.
#[derive(Debug)]
pub(crate) struct Conversation<'f> {
    pub(crate) call: &'f mut Option<Box<CallState>>,
    pub(crate) rtp: &'f mut Option<Box<PerDirection<RtpDirection>>>,
    pub(crate) declared: &'f Declared,
    pub(crate) way: Direction,
    pub(crate) time_ns: i64,
}

impl Conversation<'_> {
    /// Take a UDP payload: RTP, as declared or by its looks, or another message of a call.
    pub(crate) fn datagram(&mut self, payload: &[u8], payload_bytes: u32) {
        if self.is_rtp(&Carried::behind(payload, payload_bytes, 0, Carrier::default())) {
            return;
        }
        let in_handshake = self.call.as_ref().is_some_and(|call| call.dtls.packets > 0);
        if let Some(message) = message::datagram(payload, payload_bytes, in_handshake) {
            self.message(message);
        }
    }

    /// Take a TCP segment with payload, if the connection carries TURN: its first payload begins with STUN.
    pub(crate) fn segment(&mut self, packet: &Packet<'_>, sequence: u32, is_first: bool) {
        let header_bytes = packet
            .ip_payload
            .get(12)
            .map_or(0, |byte| usize::from(byte >> 4) * 4);
        let payload = packet.ip_payload.get(header_bytes..).unwrap_or_default();
        if self.call.is_none() && !(is_first && crate::call::stun::in_stream(payload).is_some()) {
            return;
        }
        let mut framing = std::mem::take(self.call.get_or_insert_default().framing.get_mut(self.way));
        framing.segment(sequence, payload, packet.payload_bytes, &mut |message| {
            self.message(message);
        });
        *self.call.get_or_insert_default().framing.get_mut(self.way) = framing;
    }

    /// Take a message, and what it carries.
    fn message(&mut self, message: Message<'_>) {
        let mut next = Some((message, false));
        for _ in 0..LEVELS {
            let Some((message, relayed)) = next else {
                return;
            };
            let call = self.call.get_or_insert_default();
            let Some(carried) = call.take(message, relayed, self.way, self.time_ns) else {
                return;
            };
            let in_handshake = call.dtls.packets > 0;
            if self.is_rtp(&carried) {
                return;
            }
            next = message::datagram(carried.bytes, carried.payload_bytes, in_handshake)
                .map(|message| (message, true));
        }
    }

    /// Take a payload as RTP, if it is or may be.
    fn is_rtp(&mut self, carried: &Carried<'_>) -> bool {
        let reading = self
            .declared
            .read(carried.bytes, carried.payload_bytes, self.time_ns);
        let by = |rtp: RtpPacket| RtpPacket {
            carrier: carried.carrier,
            ..rtp
        };
        match reading {
            Reading::Declared(rtp) => self.streams().declared_packet(&by(rtp)),
            Reading::Candidate(rtp) => self.streams().packet(&by(rtp)),
            Reading::NotRtp => return false,
        }
        true
    }

    fn streams(&mut self) -> &mut RtpDirection {
        self.rtp.get_or_insert_default().get_mut(self.way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::dtls::tests::record;
    use crate::call::rtcp::tests::sender_report;
    use crate::call::stun::tests::stun;
    use crate::rtp::carrier::Media;

    fn rtp(sequence: u16) -> Vec<u8> {
        let mut bytes = vec![0x80, 96];
        bytes.extend(sequence.to_be_bytes());
        bytes.extend((u32::from(sequence) * 160).to_be_bytes());
        bytes.extend([0, 0, 0, 7]);
        bytes.extend([9; 20]);
        bytes
    }

    fn receive(
        payloads: &[Vec<u8>],
        declared: &Declared,
    ) -> (Option<Box<CallState>>, Vec<crate::rtp::stream::RtpStream>) {
        let (mut call, mut streams) = (None, None);
        for (place, payload) in payloads.iter().enumerate() {
            let mut conversation = Conversation {
                call: &mut call,
                rtp: &mut streams,
                declared,
                way: Direction::Fwd,
                time_ns: place as i64 * 20_000_000,
            };
            conversation.datagram(payload, payload.len() as u32);
        }
        (
            call,
            streams.map_or_else(Vec::new, |streams: Box<PerDirection<RtpDirection>>| {
                streams.fwd.into_streams()
            }),
        )
    }

    fn in_channel(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x40, 0];
        bytes.extend((payload.len() as u16).to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    fn in_zoom(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![5, 0, 1, 0, 0, 0, 0, 4, 15];
        bytes.resize(27, 0);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn rtp_is_found_in_whatever_carries_it() {
        for (wrap, encapsulation, media) in [
            ((|rtp: &[u8]| rtp.to_vec()) as fn(&[u8]) -> Vec<u8>, None, None),
            (in_channel, Some(Encapsulation::TurnChannel), None),
            (
                |rtp| stun(0x0017, 1, &[(0x0013, rtp)]),
                Some(Encapsulation::TurnIndication),
                None,
            ),
            (in_zoom, Some(Encapsulation::ZoomServer), Some(Media::Audio)),
            (
                |rtp| in_channel(&in_zoom(rtp)),
                Some(Encapsulation::ZoomServer),
                Some(Media::Audio),
            ),
        ] {
            let payloads: Vec<_> = (0..10).map(|sequence| wrap(&rtp(sequence))).collect();
            let (call, streams) = receive(&payloads, &Declared::Nothing);
            assert_eq!(
                (streams.len(), streams[0].packets, streams[0].payload_bytes),
                (1, 10, 320)
            );
            assert_eq!(
                (streams[0].carrier.encapsulation, streams[0].carrier.media),
                (encapsulation, media)
            );
            assert_eq!(call.is_none(), encapsulation.is_none());
            // What is declared not to be RTP is not RTP in a tunnel either.
            assert!(receive(&payloads, &Declared::NotRtp).1.is_empty());
        }
    }

    #[test]
    fn what_the_relay_carries_is_not_a_message_to_it() {
        let payloads = [
            stun(3, 1, &[]),
            in_channel(&stun(1, 2, &[])),
            in_channel(&record(22, 0, &[1, 0])),
            in_channel(&sender_report(1, 2)),
            in_channel(&in_channel(&in_channel(&in_channel(&rtp(1))))),
        ];
        let (call, streams) = receive(&payloads, &Declared::Nothing);
        let call = call.unwrap();
        assert_eq!(
            (call.stun.messages(), call.dtls.packets, call.reports.packets),
            (1, 1, 1)
        );
        assert_eq!((call.channel_packets, call.relayed_messages), (6, 5));
        assert!(streams.is_empty());
    }

    #[test]
    fn payloads_that_are_cut_anywhere_are_read_or_left() {
        for payload in [
            in_channel(&in_zoom(&rtp(1))),
            stun(0x0016, 1, &[(0x0013, &in_zoom(&rtp(1)))]),
            in_channel(&sender_report(1, 2)),
            record(22, 0, &[1, 0]),
        ] {
            for length in 0..payload.len() {
                let (mut call, mut rtp) = (None, None);
                Conversation {
                    call: &mut call,
                    rtp: &mut rtp,
                    declared: &Declared::Nothing,
                    way: Direction::Rev,
                    time_ns: i64::MAX,
                }
                .datagram(&payload[..length], payload.len() as u32);
            }
        }
    }
}
