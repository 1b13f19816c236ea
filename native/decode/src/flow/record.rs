//! One bidirectional flow.

use crate::call::state::{CallState, Conversation};
use crate::flow::ecn::codepoints::Codepoints;
use crate::flow::interval::IntervalSeries;
use crate::flow::server_search::ServerSearch;
use crate::flow::spin::state::Spin;
use crate::flow::tcp::connection::TcpConnection;
use crate::flow::tcp::passed::Passing;
use crate::packet::direction::{Direction, PerDirection};
use crate::packet::types::{Endpoint, Packet, Transport, Tunnels};
use crate::rtp::hints::Declared;
use crate::rtp::stream::RtpDirection;
use crate::server::flow_server::Server;
use crate::server::name::ServerNames;

/// Counts that every protocol has.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) packets: i64,
    pub(crate) bytes: i64,
    pub(crate) payload_bytes: i64,
    pub(crate) congestion_experienced_packets: i64,
    pub(crate) intervals: IntervalSeries,
}

/// Why a flow's record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    CaptureEnd,
    Idle,
    PortsReused,
    Evicted,
}

impl EndReason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CaptureEnd => "capture_end",
            Self::Idle => "idle",
            Self::PortsReused => "ports_reused",
            Self::Evicted => "evicted",
        }
    }
}

/// A flow with all that is kept of it.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) id: i64,
    pub(crate) protocol: u8,
    pub(crate) tunnels: Tunnels,
    pub(crate) end_reason: EndReason,
    pub(crate) initiator: Endpoint,
    pub(crate) responder: Endpoint,
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    pub(crate) traffic: PerDirection<Traffic>,
    /// `None` until a packet of either direction has an ECN codepoint.
    pub(crate) codepoints: Option<Box<PerDirection<Codepoints>>>,
    /// `None` where the protocol is not TCP.
    pub(crate) tcp: Option<Box<TcpConnection>>,
    /// `None` until a packet looks like RTP.
    pub(crate) rtp: Option<Box<PerDirection<RtpDirection>>>,
    /// `None` until a payload looks like one of a call that is not RTP.
    pub(crate) call: Option<Box<CallState>>,
    /// `None` until a datagram begins with a long header of QUIC.
    pub(crate) spin: Option<Box<Spin>>,
    /// Whether it is RTP, where that is known from elsewhere.
    pub(crate) declared: Option<Box<PerDirection<Declared>>>,
    pub(crate) search: ServerSearch,
    /// `None` while neither a handshake nor DNS says anything of the server.
    pub(crate) server: Option<Box<Server>>,
}

impl Flow {
    /// A flow without its connection, if it is one of TCP.
    ///
    /// Its initiator sent the first packet, unless that is a SYN-ACK, which answers to a SYN (RFC 9293, 3.5).
    pub(crate) fn new(id: i64, first: &Packet<'_>, time_ns: i64) -> Self {
        let (initiator, responder) = if first.answers_a_syn() {
            (first.destination, first.source)
        } else {
            (first.source, first.destination)
        };
        Self {
            id,
            protocol: first.protocol,
            tunnels: first.tunnels,
            end_reason: EndReason::CaptureEnd,
            initiator,
            responder,
            first_ns: time_ns,
            last_ns: time_ns,
            traffic: PerDirection::default(),
            codepoints: None,
            tcp: None,
            rtp: None,
            call: None,
            spin: None,
            declared: None,
            search: ServerSearch::new(ServerNames::default()),
            server: None,
        }
    }

    pub(crate) fn ip_version(&self) -> i8 {
        if self.initiator.address.is_ipv4() { 4 } else { 6 }
    }

    pub(crate) fn direction_of(&self, packet: &Packet<'_>) -> Direction {
        if packet.source == self.initiator {
            Direction::Fwd
        } else {
            Direction::Rev
        }
    }

    /// How many intervals are kept in memory.
    pub(crate) fn intervals_kept(&self) -> usize {
        self.traffic.fwd.intervals.kept() + self.traffic.rev.intervals.kept()
    }

    /// Count a packet.
    pub(crate) fn packet(
        &mut self,
        packet: &Packet<'_>,
        direction: Direction,
        time_ns: i64,
        wire_bytes: u32,
        interval_ns: i64,
    ) {
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
        let traffic = self.traffic.get_mut(direction);
        traffic.packets += 1;
        traffic.bytes += i64::from(wire_bytes);
        traffic.payload_bytes += i64::from(packet.payload_bytes);
        traffic.congestion_experienced_packets += i64::from(packet.congestion_experienced());
        let is_first_payload = traffic.payload_bytes == i64::from(packet.payload_bytes);
        traffic.intervals.add(time_ns, i64::from(wire_bytes), interval_ns);
        if packet.ecn != 0 {
            let codepoints = self.codepoints.get_or_insert_default().get_mut(direction);
            codepoints.add(packet.ecn, time_ns, i64::from(wire_bytes), interval_ns);
        }
        let mut conversation = Conversation {
            call: &mut self.call,
            rtp: &mut self.rtp,
            declared: self
                .declared
                .as_ref()
                .map_or(&Declared::Nothing, |declared| declared.get(direction)),
            way: direction,
            time_ns,
        };
        match packet.transport {
            Transport::Tcp(segment) => {
                if packet.payload_bytes > 0 && (is_first_payload || conversation.call.is_some()) {
                    conversation.segment(packet, segment.sequence, is_first_payload);
                }
                if let Some(tcp) = &mut self.tcp {
                    let passing = Passing {
                        payload_bytes: packet.payload_bytes,
                        ip_id: packet.ip_id,
                        ecn: packet.ecn,
                        time_ns,
                    };
                    tcp.packet(direction, &segment, &passing);
                }
            }
            Transport::Udp(payload) => {
                if self.spin.is_none() {
                    self.spin = Spin::begin(payload).map(Box::new);
                }
                if let Some(spin) = &mut self.spin {
                    spin.datagram(direction, payload, time_ns);
                }
                conversation.datagram(payload, packet.payload_bytes);
            }
            Transport::Fragment | Transport::Other => {}
        }
    }

    /// Whether its protocol says that it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.is_over())
    }

    /// Memory that is kept of the flow's segments, media, call and spin bit, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        let rtp = self.rtp.as_ref().map_or(0, |rtp| {
            size_of::<PerDirection<RtpDirection>>() + rtp.fwd.kept_bytes() + rtp.rev.kept_bytes()
        });
        let call = self
            .call
            .as_ref()
            .map_or(0, |call| size_of::<CallState>() + call.kept_bytes());
        let tcp = self.tcp.as_ref().map_or(0, |tcp| tcp.kept_bytes());
        tcp + rtp + call + self.spin.as_ref().map_or(0, |spin| spin.kept_bytes())
    }

    /// End the record: what is needed only while packets come is given up.
    pub(crate) fn end(&mut self, reason: EndReason) {
        self.end_reason = reason;
        for traffic in [&mut self.traffic.fwd, &mut self.traffic.rev] {
            traffic.intervals.merge();
        }
        if let Some(codepoints) = &mut self.codepoints {
            codepoints.fwd.merge();
            codepoints.rev.merge();
        }
        self.search.finish(&mut self.server);
        if let Some(tcp) = &mut self.tcp {
            tcp.close();
        }
    }
}
