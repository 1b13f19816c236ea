//! ECN of one TCP connection: what was agreed on, and what each receiver reported.
//!
//! A segment of one direction reports about the other. A segment that is older than one that passed (by its
//! acknowledgement and sequence numbers) reports nothing: a counter modulo 8 would turn once too often.

use crate::flow::ecn::ace::AceCounter;
use crate::flow::ecn::byte_counters::ByteCounters;
use crate::flow::ecn::in_flight::InFlight;
use crate::flow::ecn::negotiation::{Mode, Negotiation, ace_field};
use crate::flow::tcp::passed::Passing;
use crate::flow::tcp::sequence::distance;
use crate::packet::direction::{Direction, PerDirection};
use crate::packet::types::TcpSegment;

/// What one direction sent, and what the other end reported of it.
#[derive(Debug, Default)]
pub(crate) struct EcnDirection {
    /// Segments with payload, and those of them that are ECN-capable or marked.
    pub(crate) data_packets: i64,
    pub(crate) ecn_data_packets: i64,
    pub(crate) ace: AceCounter,
    pub(crate) bytes: ByteCounters,
    /// Options that contradict the ACE field.
    pub(crate) disagreements: i64,
    /// Segments of the other end that are older than one that passed.
    pub(crate) stale_reports: i64,
    /// Runs of segments of the other end with ECE: at least as many marks as runs (RFC 3168, 6.1.3).
    pub(crate) echo_runs: i64,
    echoing: bool,
    in_flight: InFlight,
    /// Acknowledgement and sequence number of the newest report.
    newest: Option<(u32, u32)>,
    since_option: SinceOption,
}

/// What the ACE field said since the last option.
#[derive(Debug, Default)]
struct SinceOption {
    min: i64,
    max: i64,
    reports: i64,
    pure_may_be_marked: bool,
}

impl EcnDirection {
    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.in_flight.kept_bytes()
    }

    fn restart(&mut self) {
        self.ace.restart();
        self.bytes.restart();
        self.in_flight.restart();
        self.echoing = false;
        self.newest = None;
        self.since_option = SinceOption::default();
    }

    fn sent(&mut self, segment: &TcpSegment, passing: &Passing) {
        if passing.payload_bytes > 0 {
            self.data_packets += 1;
            self.ecn_data_packets += i64::from(passing.ecn != 0);
            let end = segment.sequence.wrapping_add(passing.payload_bytes);
            self.in_flight.data(end, passing.payload_bytes);
        } else if passing.ecn != 0 {
            self.in_flight.pure();
        }
    }

    /// Whether a segment of the other end is newer than those before, or as new.
    fn is_in_order(&mut self, segment: &TcpSegment) -> bool {
        let now = (segment.acknowledgement, segment.sequence);
        let in_order = self.newest.is_none_or(|(acknowledgement, sequence)| {
            let ahead = distance(acknowledgement, now.0);
            ahead > 0 || (ahead == 0 && distance(sequence, now.1) >= 0)
        });
        if in_order {
            self.newest = Some(now);
        } else {
            self.stale_reports += 1;
        }
        in_order
    }

    fn reported(&mut self, segment: &TcpSegment, of_handshake: bool) {
        let ece = segment.has(TcpSegment::ECE);
        self.echo_runs += i64::from(ece && !self.echoing);
        self.echoing = ece;
        let options = &segment.options;
        let ce_bytes = options.accurate_ecn.and_then(|option| self.bytes.report(&option));
        if of_handshake {
            return;
        }
        let pure_may_be_marked = self.in_flight.may_have_marked_pure();
        let highest = if options.selective_acknowledgement {
            options.highest_selective_end
        } else {
            segment.acknowledgement
        };
        let newly = self.in_flight.acknowledge(highest);
        let since = &mut self.since_option;
        since.pure_may_be_marked |= pure_may_be_marked;
        // The bytes are those of this report alone only if the report before had an option too.
        let own_bytes = ce_bytes.filter(|_| since.reports == 0 && !since.pure_may_be_marked);
        let (min, max) = self.ace.report(ace_field(segment), newly, own_bytes);
        since.min += min;
        since.max += max;
        since.reports += 1;
        if let Some(ce_bytes) = ce_bytes {
            let bytes_without_packets = ce_bytes > 0 && since.max == 0;
            let packets_without_bytes = ce_bytes == 0 && since.min > 0 && !since.pure_may_be_marked;
            self.disagreements += i64::from(bytes_without_packets || packets_without_bytes);
        }
        if options.accurate_ecn.is_some() {
            *since = SinceOption::default();
        }
    }
}

/// Both directions of a connection.
#[derive(Debug, Default)]
pub(crate) struct TcpEcn {
    pub(crate) negotiation: Negotiation,
    pub(crate) directions: PerDirection<EcnDirection>,
    /// A segment other than a SYN had the bit that classic ECN does not use.
    has_accurate_bit: bool,
    /// The smaller of both maximum segment sizes.
    least_segment_size: Option<u16>,
}

impl TcpEcn {
    pub(crate) const FLAGS: u16 = TcpSegment::AE | TcpSegment::CWR | TcpSegment::ECE;

    /// A segment passes.
    pub(crate) fn packet(&mut self, direction: Direction, segment: &TcpSegment, passing: &Passing) {
        if segment.has(TcpSegment::RST) {
            return;
        }
        let acknowledges = segment.has(TcpSegment::ACK);
        if segment.has(TcpSegment::SYN) {
            if !acknowledges {
                if self.negotiation.syn(direction, segment, passing.ecn) {
                    self.directions.fwd.restart();
                    self.directions.rev.restart();
                    self.least_segment_size = None;
                }
                self.accept(segment);
                return;
            }
            self.accept(segment);
            self.negotiation.syn_ack(direction, segment, passing.ecn);
            let about = self.directions.get_mut(direction.opposite());
            if let Some(option) = segment.options.accurate_ecn {
                about.bytes.begin();
                about.bytes.report(&option);
            }
            return;
        }
        self.has_accurate_bit |= segment.has(TcpSegment::AE);
        self.directions.get_mut(direction).sent(segment, passing);
        if !acknowledges {
            return;
        }
        let of_handshake = self
            .negotiation
            .is_of_handshake(direction, segment, passing.payload_bytes);
        let begins = self.negotiation.counter_begins(direction.opposite());
        let about = self.directions.get_mut(direction.opposite());
        if !about.is_in_order(segment) {
            return;
        }
        if let Some(begins) = begins {
            about.ace.begin_unless_begun(begins);
            about.bytes.begin_unless_begun();
        }
        about.reported(segment, of_handshake);
    }

    /// A SYN says how large the segments are that its sender accepts, and mostly sends, if its options were captured. No
    /// segment is as short as a 0 says.
    fn accept(&mut self, syn: &TcpSegment) {
        if let Some(stated) = syn.options.maximum_segment_size.filter(|size| *size > 0) {
            let least = self.least_segment_size.map_or(stated, |least| least.min(stated));
            self.least_segment_size = Some(least);
            self.directions.fwd.in_flight.accept(least);
            self.directions.rev.in_flight.accept(least);
        }
    }

    /// What the connection uses: as the handshake agreed, or as a bit shows that only Accurate ECN uses.
    pub(crate) fn mode(&self) -> Mode {
        match self.negotiation.mode() {
            Mode::Unknown if self.has_accurate_bit => Mode::Accurate,
            mode => mode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::accurate_ecn::AccurateEcn;
    use crate::packet::tcp_options::TcpOptions;
    use Direction::{Fwd, Rev};

    const SYN: u16 = TcpSegment::SYN;
    const ACK: u16 = TcpSegment::ACK;

    /// The three flags of an ACE field.
    fn ace(value: u16) -> u16 {
        (value & 3) << 6 | (value & 4) << 6
    }

    struct Connection(TcpEcn);

    impl Connection {
        fn segment(&mut self, direction: Direction, numbers: (u32, u32), flags: u16, of: (u32, u8)) {
            self.with_option(direction, numbers, flags, of, None);
        }

        fn with_option(
            &mut self,
            direction: Direction,
            numbers: (u32, u32),
            flags: u16,
            of: (u32, u8),
            accurate_ecn: Option<AccurateEcn>,
        ) {
            let options = TcpOptions {
                accurate_ecn,
                ..TcpOptions::default()
            };
            self.with_options(direction, numbers, flags, of, options);
        }

        fn with_options(
            &mut self,
            direction: Direction,
            (sequence, acknowledgement): (u32, u32),
            flags: u16,
            (payload_bytes, ecn): (u32, u8),
            options: TcpOptions,
        ) {
            let segment = TcpSegment {
                sequence,
                acknowledgement,
                flags,
                window: 1,
                checksum: 0,
                options,
            };
            let passing = Passing {
                payload_bytes,
                ip_id: 0,
                ecn,
                time_ns: 0,
            };
            self.0.packet(direction, &segment, &passing);
        }

        /// Sequence numbers of data begin at 101 forwards and 501 backwards.
        fn opened(syn: u16, syn_ack: u16) -> Self {
            let mut connection = Self(TcpEcn::default());
            connection.segment(Fwd, (100, 0), SYN | ace(syn), (0, 0));
            connection.segment(Rev, (500, 101), SYN | ACK | ace(syn_ack), (0, 0));
            connection
        }
    }

    fn ce_option(ce: u32) -> AccurateEcn {
        AccurateEcn {
            ect0: Some(1),
            ce: Some(ce),
            ect1: Some(1),
            ..AccurateEcn::default()
        }
    }

    #[test]
    fn the_answer_decides() {
        for (syn, syn_ack, name, mode) in [
            (7, 2, "accurate_not_ect", Mode::Accurate),
            (7, 3, "accurate_ect1", Mode::Accurate),
            (7, 4, "accurate_ect0", Mode::Accurate),
            (7, 6, "accurate_ce", Mode::Accurate),
            (7, 1, "classic", Mode::Classic),
            (7, 5, "classic_nonce", Mode::Classic),
            (7, 0, "refused", Mode::None),
            (7, 7, "broken", Mode::None),
            (3, 1, "classic", Mode::Classic),
            (3, 0, "refused", Mode::None),
            (3, 3, "broken", Mode::None),
            (0, 0, "not_requested", Mode::None),
            (0, 1, "broken", Mode::None),
        ] {
            let connection = Connection::opened(syn, syn_ack);
            assert_eq!(connection.0.negotiation.name(), name, "{syn} {syn_ack}");
            assert_eq!(connection.0.mode(), mode, "{syn} {syn_ack}");
        }
    }

    #[test]
    fn an_answer_that_overtook_its_syn_decides_and_one_of_another_connection_does_not() {
        for (acknowledgement, name) in [(101, "accurate_ect1"), (777, "unanswered")] {
            let mut connection = Connection(TcpEcn::default());
            connection.segment(Rev, (500, acknowledgement), SYN | ACK | ace(3), (0, 0));
            connection.segment(Fwd, (100, 0), SYN | ace(7), (0, 0));
            assert_eq!(connection.0.negotiation.name(), name);
        }
    }

    #[test]
    fn the_field_of_the_handshake_is_a_codepoint_and_not_a_count() {
        let mut connection = Connection::opened(7, 3);
        connection.segment(Fwd, (101, 501), ACK | ace(4), (0, 0));
        connection.segment(Fwd, (101, 501), ACK | ace(5), (50, 2));
        connection.segment(Rev, (501, 151), ACK | ace(5), (0, 0));
        let ecn = &connection.0;
        assert_eq!(ecn.negotiation.codepoints(Fwd), (Some(0), Some(1)));
        assert_eq!(ecn.negotiation.codepoints(Rev), (Some(0), Some(2)));
        assert_eq!((ecn.directions.rev.ace.min, ecn.directions.fwd.ace.min), (0, 0));
    }

    #[test]
    fn marks_are_counted_from_five_and_old_segments_say_nothing() {
        let mut connection = Connection::opened(7, 2);
        for (sequence, ecn) in [(101, 2), (201, 3), (301, 3)] {
            connection.segment(Fwd, (sequence, 501), ACK | ace(5), (100, ecn));
        }
        connection.segment(Rev, (501, 201), ACK | ace(5), (0, 0));
        connection.segment(Rev, (501, 401), ACK | ace(7), (0, 0));
        connection.segment(Rev, (501, 301), ACK | ace(6), (0, 0));
        let fwd = &connection.0.directions.fwd;
        assert_eq!((fwd.ace.min, fwd.ace.max, fwd.stale_reports), (2, 2, 1));
        assert_eq!((fwd.data_packets, fwd.ecn_data_packets), (3, 3));
    }

    #[test]
    fn a_counter_begins_at_six_if_the_syn_was_marked() {
        let mut connection = Connection::opened(7, 6);
        connection.segment(Fwd, (101, 501), ACK | ace(5), (100, 2));
        connection.segment(Rev, (501, 201), ACK | ace(6), (0, 0));
        assert_eq!(connection.0.directions.fwd.ace.min, 0);
    }

    #[test]
    fn options_that_contradict_the_field_are_counted() {
        let mut connection = Connection::opened(7, 2);
        for (sequence, value, ce) in [(101, 5, 0), (201, 6, 100), (301, 6, 200), (401, 7, 200)] {
            connection.segment(Fwd, (sequence, 501), ACK | ace(5), (100, 2));
            let numbers = (501, sequence + 100);
            connection.with_option(Rev, numbers, ACK | ace(value), (0, 0), Some(ce_option(ce)));
        }
        let fwd = &connection.0.directions.fwd;
        assert_eq!(fwd.disagreements, 2);
        assert_eq!(fwd.bytes.totals(), (Some(0), Some(0), Some(200)));
    }

    #[test]
    fn a_merged_segment_may_be_marked_many_times() {
        // Packets are no longer than the smaller maximum segment size, of those that are sizes.
        for (own, peer) in [(1460, 1460), (1460, 8960), (8960, 1460), (1460, 0)] {
            let mut connection = Connection(TcpEcn::default());
            for (direction, numbers, flags, answer, size) in [
                (Fwd, (100, 0), SYN, 7, own),
                (Rev, (500, 101), SYN | ACK, 2, peer),
            ] {
                let options = TcpOptions {
                    maximum_segment_size: Some(size),
                    ..TcpOptions::default()
                };
                connection.with_options(direction, numbers, flags | ace(answer), (0, 0), options);
            }
            connection.segment(Fwd, (101, 501), ACK | ace(5), (20 * 1448, 2));
            let numbers = (501, 101 + 20 * 1448);
            connection.with_option(Rev, numbers, ACK | ace(5), (0, 0), Some(ce_option(8 * 1448)));
            let fwd = &connection.0.directions.fwd;
            // The field turned once, as the bytes say.
            assert_eq!(
                (fwd.ace.min, fwd.ace.max, fwd.disagreements),
                (8, 8, 0),
                "{own} {peer}"
            );
        }
    }

    #[test]
    fn without_a_handshake_the_bit_of_accurate_ecn_tells() {
        let mut connection = Connection(TcpEcn::default());
        connection.segment(Fwd, (101, 501), ACK | ace(1), (100, 2));
        assert_eq!(connection.0.mode(), Mode::Unknown);
        connection.segment(Rev, (501, 201), ACK | ace(4), (0, 0));
        assert_eq!(connection.0.mode(), Mode::Accurate);
    }

    #[test]
    fn runs_of_echoes_are_at_least_as_many_marks() {
        let mut connection = Connection::opened(3, 1);
        for (place, ece) in [0, 1, 1, 0, 1].into_iter().enumerate() {
            let acknowledgement = 201 + 100 * u32::try_from(place).unwrap();
            connection.segment(Rev, (501, acknowledgement), ACK | ace(ece), (0, 0));
        }
        assert_eq!(connection.0.directions.fwd.echo_runs, 2);
        assert_eq!(connection.0.mode(), Mode::Classic);
    }

    #[test]
    fn a_new_connection_on_the_same_ports_begins_again() {
        let mut connection = Connection::opened(7, 2);
        connection.segment(Fwd, (101, 501), ACK | ace(5), (100, 2));
        connection.segment(Rev, (501, 201), ACK | ace(7), (0, 0));
        connection.segment(Fwd, (9000, 0), SYN | ace(3), (0, 0));
        connection.segment(Rev, (7000, 9001), SYN | ACK | ace(1), (0, 0));
        assert_eq!(connection.0.mode(), Mode::Classic);
        assert_eq!(connection.0.directions.fwd.ace.min, 2);
        connection.segment(Fwd, (30_000, 0), SYN | ace(7), (0, 0));
        connection.segment(Rev, (40_000, 30_001), SYN | ACK | ace(2), (0, 0));
        connection.segment(Fwd, (30_001, 40_001), ACK | ace(5), (100, 2));
        connection.segment(Rev, (40_001, 30_101), ACK | ace(6), (0, 0));
        assert_eq!(connection.0.directions.fwd.ace.min, 3);
    }
}
