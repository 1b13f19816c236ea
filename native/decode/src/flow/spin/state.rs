//! Edges of the spin bit in each direction of a flow, with what tells whether time between two of them is an RTT.

use crate::output::units::LONGEST_DELAY_NS;
use crate::packet::direction::{Direction, PerDirection};

const LONG_HEADER: u8 = 0x80;
/// RFC 9000, 17: every packet of version 1 and 2 has it, and RTP and STUN, which share ports with QUIC, do not.
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
/// Versions of drafts are 0xff0000 and the draft's number; the bit has its place since draft 17.
const DRAFTS: u32 = 0xff00_0000;
const FIRST_DRAFT: u32 = DRAFTS + 17;
const LAST_DRAFT: u32 = DRAFTS + 34;
/// The implementation quant gave drafts versions of its own: "EGG" and the draft's number.
const QUANT: u32 = 0x4547_4700;
const FIRST_OF_QUANT: u32 = QUANT + 17;
const LAST_OF_QUANT: u32 = QUANT + 34;
/// Those of picoquic: "PCQ" and a digit.
const FIRST_OF_PICOQUIC: u32 = 0x5043_5130;
const LAST_OF_PICOQUIC: u32 = FIRST_OF_PICOQUIC + 9;
/// Edges kept of one direction; one that turns the bit at random has more, and they are only counted.
const EDGES_KEPT: usize = 1 << 14;

/// A change of the bit in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) time_ns: i64,
    /// The bit from then on.
    pub(crate) value: bool,
    /// Since the edge before it in the same direction: one RTT, if the path kept the order and both ends sent all the time.
    pub(crate) since_edge_ns: Option<i64>,
    /// Since the last edge of the other direction: the way of that edge to the receiver and back.
    pub(crate) since_other_edge_ns: Option<i64>,
    /// Packets of this direction with the value before.
    pub(crate) packets_before: i64,
    /// Longest time without a packet of either direction since the edge before it.
    pub(crate) longest_silence_ns: i64,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct SpinDirection {
    pub(crate) short_header_packets: i64,
    pub(crate) spin_packets: i64,
    /// All edges, and those of them that are kept, from the first.
    pub(crate) edges_seen: i64,
    pub(crate) edges: Vec<Edge>,
    value: Option<bool>,
    packets_of_value: i64,
    last_edge_ns: Option<i64>,
    longest_silence_ns: i64,
}

/// A flow of QUIC.
#[derive(Debug)]
pub(crate) struct Spin {
    pub(crate) version: u32,
    pub(crate) directions: PerDirection<SpinDirection>,
    last_packet_ns: Option<i64>,
}

impl Spin {
    /// Begin with a datagram that opens with a long header of a version whose place of the bit is known.
    pub(crate) fn begin(payload: &[u8]) -> Option<Self> {
        let [first, version @ ..] = payload else {
            return None;
        };
        if first & (LONG_HEADER | FIXED) != LONG_HEADER | FIXED {
            return None;
        }
        let version = u32::from_be_bytes(*version.first_chunk()?);
        let is_known = matches!(
            version,
            VERSION_1
                | VERSION_2
                | FIRST_DRAFT..=LAST_DRAFT
                | FIRST_OF_QUANT..=LAST_OF_QUANT
                | FIRST_OF_PICOQUIC..=LAST_OF_PICOQUIC
        );
        is_known.then(|| Self {
            version,
            directions: PerDirection::default(),
            last_packet_ns: None,
        })
    }

    /// Memory that is kept, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        let edges = self.directions.fwd.edges.len() + self.directions.rev.edges.len();
        size_of::<Self>() + edges * size_of::<Edge>()
    }

    /// A datagram of the flow; those with long headers have no bit, but show that the sender was not silent.
    pub(crate) fn datagram(&mut self, direction: Direction, payload: &[u8], time_ns: i64) {
        let Some(first) = payload.first() else {
            return;
        };
        let silence_ns = self
            .last_packet_ns
            .map_or(0, |last_ns| time_ns.saturating_sub(last_ns));
        // After a clock was set back, silence is measured from there on.
        self.last_packet_ns = Some(time_ns);
        for one in [&mut self.directions.fwd, &mut self.directions.rev] {
            one.longest_silence_ns = one.longest_silence_ns.max(silence_ns);
        }
        if first & (LONG_HEADER | FIXED) != FIXED {
            return;
        }
        let other_edge_ns = self.directions.get(direction.opposite()).last_edge_ns;
        self.directions
            .get_mut(direction)
            .packet(first & SPIN != 0, time_ns, other_edge_ns);
    }
}

impl SpinDirection {
    fn packet(&mut self, value: bool, time_ns: i64, other_edge_ns: Option<i64>) {
        // No time can be told across a clock that was set.
        let since = |edge_ns: Option<i64>| {
            Some(time_ns.saturating_sub(edge_ns?))
                .filter(|since_ns| (0..=LONGEST_DELAY_NS).contains(since_ns))
        };
        self.short_header_packets += 1;
        self.spin_packets += i64::from(value);
        if self.value.is_some_and(|before| before != value) {
            self.edges_seen += 1;
            if self.edges.len() < EDGES_KEPT {
                self.edges.push(Edge {
                    time_ns,
                    value,
                    since_edge_ns: since(self.last_edge_ns),
                    since_other_edge_ns: since(other_edge_ns),
                    packets_before: self.packets_of_value,
                    longest_silence_ns: self.longest_silence_ns,
                });
            }
            self.last_edge_ns = Some(time_ns);
            self.packets_of_value = 0;
            self.longest_silence_ns = 0;
        }
        self.value = Some(value);
        self.packets_of_value += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIAL: [u8; 6] = [0xc3, 0, 0, 0, 1, 8];

    fn spin() -> Spin {
        Spin::begin(&INITIAL).unwrap()
    }

    #[test]
    fn a_flow_of_quic_begins_with_a_long_header_of_a_known_version() {
        for length in 0..5 {
            assert!(Spin::begin(&INITIAL[..length]).is_none(), "{length} bytes");
        }
        assert_eq!(spin().version, 1);
        assert!(Spin::begin(&[0xc0, 0xff, 0, 0, 23]).is_some());
        assert!(Spin::begin(&[0xc0, 0xff, 0, 0, 16]).is_none());
        assert!(Spin::begin(b"\xc0EGG\x17").is_some());
        // Version negotiation, RTP, and a version that nobody knows.
        assert!(Spin::begin(&[0xc0, 0, 0, 0, 0]).is_none());
        assert!(Spin::begin(&[0x80, 0, 0, 0, 1]).is_none());
        assert!(Spin::begin(b"\xc0Q050").is_none());
    }

    #[test]
    fn an_edge_is_a_change_of_the_bit_in_its_direction() {
        let mut spin = spin();
        let (client, server) = (Direction::Fwd, Direction::Rev);
        spin.datagram(client, &INITIAL, 0);
        for (direction, first, time_ns) in [
            (client, 0x40, 10),
            (server, 0x40, 60),
            (client, 0x60, 110),
            (client, 0x60, 120),
            (server, 0x60, 160),
            (client, 0x40, 210),
        ] {
            spin.datagram(direction, &[first, 1, 2], time_ns);
        }
        let forward = &spin.directions.fwd;
        assert_eq!((forward.short_header_packets, forward.spin_packets), (4, 2));
        assert_eq!(
            forward.edges,
            [
                Edge {
                    time_ns: 110,
                    value: true,
                    since_edge_ns: None,
                    since_other_edge_ns: None,
                    packets_before: 1,
                    longest_silence_ns: 50,
                },
                Edge {
                    time_ns: 210,
                    value: false,
                    since_edge_ns: Some(100),
                    since_other_edge_ns: Some(50),
                    packets_before: 2,
                    longest_silence_ns: 50,
                },
            ]
        );
        let backward: Vec<_> = spin
            .directions
            .rev
            .edges
            .iter()
            .map(|edge| (edge.time_ns, edge.since_edge_ns, edge.since_other_edge_ns))
            .collect();
        assert_eq!(backward, [(160, None, Some(50))]);
    }

    #[test]
    fn silence_is_seen_after_the_clock_was_set_back() {
        let mut spin = spin();
        for (first, time_ns) in [
            (0x40, 10_000),
            (0x60, 10_010),
            (0x60, 500),
            (0x60, 800),
            (0x40, 810),
        ] {
            spin.datagram(Direction::Fwd, &[first], time_ns);
        }
        let edges = &spin.directions.fwd.edges;
        assert_eq!((edges[1].longest_silence_ns, edges[1].since_edge_ns), (300, None));
    }

    #[test]
    fn of_a_bit_that_turns_with_every_packet_only_so_many_edges_are_kept() {
        let mut spin = spin();
        let packets = EDGES_KEPT as i64 + 100;
        for time_ns in 0..packets {
            let first = if time_ns % 2 == 0 { 0x40 } else { 0x60 };
            spin.datagram(Direction::Fwd, &[first], time_ns);
        }
        let forward = &spin.directions.fwd;
        assert_eq!(
            (forward.edges_seen, forward.edges.len()),
            (packets - 1, EDGES_KEPT)
        );
    }

    #[test]
    fn what_is_not_a_short_header_of_quic_changes_nothing() {
        let mut spin = spin();
        spin.datagram(Direction::Fwd, &[0x40], 1);
        for payload in [&[][..], &[0x80, 0x20], &[0x20], &INITIAL] {
            spin.datagram(Direction::Fwd, payload, 2);
        }
        let forward = &spin.directions.fwd;
        assert_eq!((forward.short_header_packets, forward.edges.len()), (1, 0));
    }
}
