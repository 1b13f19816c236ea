//! What RTCP says of each source, beside what is counted here (RFC 3550, section 6.4).

use std::collections::{BTreeMap, VecDeque};

use crate::call::rtcp::{Form, ReportBlock, Rtcp, Statement};
use crate::output::units::microseconds;
use crate::packet::direction::Direction;

/// Sender reports that receivers may still answer to.
const SENDER_REPORTS: usize = 64;
/// Pairs of reporter and source in one flow; reports of more are counted, and nothing else.
const PAIRS: usize = 256;
/// Sources whose SRTCP is awaited again.
const SECURE_SOURCES: usize = 32;
/// What cut packets said before a whole one shows whether they are to be believed; of more, reports are counted.
const HELD_STATEMENTS: usize = 64;
/// A round trip longer than this is of another sender report with the same time.
const LONGEST_ROUND_TRIP_NS: i64 = 60_000_000_000;

/// The reports of one receiver on one source.
#[derive(Debug, Clone)]
pub(crate) struct Reported {
    pub(crate) direction: Direction,
    pub(crate) reporter: u32,
    pub(crate) source: u32,
    pub(crate) reports: i64,
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    fraction_lost_sum: u64,
    fraction_lost_max: u8,
    pub(crate) lost_packets: i32,
    jitter_sum: u64,
    pub(crate) jitter_max_units: u32,
    pub(crate) round_trips: i64,
    round_trip_sum_ns: i64,
    round_trip_min_ns: i64,
    round_trip_max_ns: i64,
}

impl Reported {
    fn new(direction: Direction, block: &ReportBlock, time_ns: i64) -> Self {
        Self {
            direction,
            reporter: block.reporter,
            source: block.source,
            reports: 0,
            first_ns: time_ns,
            last_ns: time_ns,
            fraction_lost_sum: 0,
            fraction_lost_max: 0,
            lost_packets: 0,
            jitter_sum: 0,
            jitter_max_units: 0,
            round_trips: 0,
            round_trip_sum_ns: 0,
            round_trip_min_ns: i64::MAX,
            round_trip_max_ns: 0,
        }
    }

    fn add(&mut self, block: &ReportBlock, time_ns: i64, round_trip_ns: Option<i64>) {
        self.reports += 1;
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
        self.fraction_lost_sum += u64::from(block.fraction_lost);
        self.fraction_lost_max = self.fraction_lost_max.max(block.fraction_lost);
        self.lost_packets = block.lost_packets;
        self.jitter_sum += u64::from(block.jitter_units);
        self.jitter_max_units = self.jitter_max_units.max(block.jitter_units);
        if let Some(round_trip_ns) = round_trip_ns {
            self.round_trips += 1;
            self.round_trip_sum_ns += round_trip_ns;
            self.round_trip_min_ns = self.round_trip_min_ns.min(round_trip_ns);
            self.round_trip_max_ns = self.round_trip_max_ns.max(round_trip_ns);
        }
    }

    /// Mean and maximum over reports of the share that was lost since the report before.
    pub(crate) fn fraction_lost(&self) -> (f64, f64) {
        let mean = self.fraction_lost_sum as f64 / self.reports as f64;
        (mean / 256.0, f64::from(self.fraction_lost_max) / 256.0)
    }

    pub(crate) fn jitter_mean_units(&self) -> f64 {
        self.jitter_sum as f64 / self.reports as f64
    }

    /// Minimum, mean and maximum in microseconds, if a report answered to a sender report that passed.
    pub(crate) fn round_trip_us(&self) -> Option<(i64, f64, i64)> {
        (self.round_trips > 0).then(|| {
            (
                microseconds(self.round_trip_min_ns),
                self.round_trip_sum_ns as f64 / 1e3 / self.round_trips as f64,
                microseconds(self.round_trip_max_ns),
            )
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct SenderReport {
    direction: Direction,
    source: u32,
    time: u32,
    seen_ns: i64,
}

/// The RTCP of one flow.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) packets: i64,
    pub(crate) cut_packets: i64,
    /// Blocks of pairs beyond the bound, and blocks and times of sender reports of cut packets beyond what is held.
    pub(crate) unplaced: i64,
    /// Reports that say what none can.
    pub(crate) refused: i64,
    pub(crate) pairs: Vec<Reported>,
    sent: VecDeque<SenderReport>,
    /// Packets by source; one alone may be anything.
    secure: Vec<(u32, i64)>,
    /// What cut packets said, while no whole packet in the clear has passed.
    held: Vec<Held>,
    /// Blocks and times of sender reports of cut packets that did not fit there, by sender.
    not_held: BTreeMap<u32, i64>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    sender: u32,
    statement: Statement,
    direction: Direction,
    time_ns: i64,
}

impl Reports {
    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.pairs.len() * size_of::<Reported>()
            + self.sent.len() * size_of::<SenderReport>()
            + self.secure.capacity() * size_of::<(u32, i64)>()
            + self.held.len() * size_of::<Held>()
            + self.not_held.len() * size_of::<(u32, i64)>()
    }

    /// Take a packet. One that is cut looks the same in the clear and encrypted: what it says counts only if whole packets
    /// of the flow are in the clear.
    pub(crate) fn take(&mut self, rtcp: &Rtcp<'_>, direction: Direction, time_ns: i64) {
        let held = |statement| Held {
            sender: rtcp.ssrc,
            statement,
            direction,
            time_ns,
        };
        match rtcp.form {
            Form::Secure => return self.take_secure(rtcp.ssrc),
            Form::Cut => {
                self.cut_packets += 1;
                if self.packets == 0 {
                    return rtcp.each(|statement| self.hold(held(statement)));
                }
                if self.is_secure(rtcp.ssrc) {
                    return;
                }
            }
            Form::Plain => {
                self.packets += 1;
                for (sender, reports) in std::mem::take(&mut self.not_held) {
                    if !self.is_secure(sender) {
                        self.unplaced += reports;
                    }
                }
                for earlier in std::mem::take(&mut self.held) {
                    if !self.is_secure(earlier.sender) {
                        self.state(&earlier);
                    }
                }
            }
        }
        rtcp.each(|statement| self.state(&held(statement)));
    }

    /// Keep what a cut packet says until a whole one shows whether it is to be believed; count what does not fit: blocks,
    /// and times of sender reports, without which blocks that answer to them have no round trip.
    fn hold(&mut self, said: Held) {
        if self.held.len() < HELD_STATEMENTS {
            return self.held.push(said);
        }
        // More senders than that are those of noise, and count as one.
        let is_counted = self.not_held.len() < HELD_STATEMENTS || self.not_held.contains_key(&said.sender);
        let sender = if is_counted { said.sender } else { 0 };
        *self.not_held.entry(sender).or_default() += 1;
    }

    fn state(&mut self, said: &Held) {
        let Held {
            direction, time_ns, ..
        } = *said;
        match said.statement {
            Statement::Sent { source, time } => {
                if self.sent.len() == SENDER_REPORTS {
                    self.sent.pop_front();
                }
                self.sent.push_back(SenderReport {
                    direction,
                    source,
                    time,
                    seen_ns: time_ns,
                });
            }
            Statement::Received(block) => self.take_block(&block, direction, time_ns),
            Statement::Refused => self.refused += 1,
        }
    }

    fn is_secure(&self, ssrc: u32) -> bool {
        self.secure.iter().any(|(source, _)| *source == ssrc)
    }

    fn take_secure(&mut self, ssrc: u32) {
        if let Some((_, packets)) = self.secure.iter_mut().find(|(source, _)| *source == ssrc) {
            *packets += 1;
            return;
        }
        if self.secure.len() == SECURE_SOURCES {
            // Those that came once have waited longest for what they were not.
            let once = self.secure.iter().position(|(_, packets)| *packets == 1);
            match once {
                Some(place) => drop(self.secure.remove(place)),
                None => return,
            }
        }
        self.secure.push((ssrc, 1));
    }

    fn take_block(&mut self, block: &ReportBlock, direction: Direction, time_ns: i64) {
        let round_trip_ns = self.round_trip_ns(block, direction, time_ns);
        let existing_place = self.pairs.iter().position(|pair| {
            (pair.reporter, pair.source, pair.direction) == (block.reporter, block.source, direction)
        });
        let place = match existing_place {
            Some(place) => place,
            None if self.pairs.len() < PAIRS => {
                self.pairs.push(Reported::new(direction, block, time_ns));
                self.pairs.len() - 1
            }
            None => {
                self.unplaced += 1;
                return;
            }
        };
        if let Some(pair) = self.pairs.get_mut(place) {
            pair.add(block, time_ns, round_trip_ns);
        }
    }

    /// Time from the capture point to the receiver and back: from the sender report that passed here to the report
    /// that answers to it, less the time that the receiver held it.
    fn round_trip_ns(&self, block: &ReportBlock, direction: Direction, time_ns: i64) -> Option<i64> {
        if block.last_report == 0 {
            return None;
        }
        let passed = self.sent.iter().rev().find(|passed| {
            passed.direction != direction && passed.source == block.source && passed.time == block.last_report
        })?;
        let held_ns = i64::from(block.delay_since) * 1_000_000_000 / 65_536;
        let round_trip_ns = time_ns.checked_sub(passed.seen_ns)?.checked_sub(held_ns)?;
        (0..=LONGEST_ROUND_TRIP_NS)
            .contains(&round_trip_ns)
            .then_some(round_trip_ns)
    }

    /// SRTCP packets of sources that sent two or more.
    pub(crate) fn secure_packets(&self) -> i64 {
        self.secure
            .iter()
            .map(|(_, packets)| packets)
            .filter(|packets| **packets > 1)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::rtcp::{
        self,
        tests::{receiver_report, sender_report},
    };

    fn take(reports: &mut Reports, bytes: &[u8], direction: Direction, time_ns: i64) {
        let rtcp = rtcp::datagram(bytes, bytes.len() as u32).unwrap();
        reports.take(&rtcp, direction, time_ns);
    }

    #[test]
    fn the_round_trip_is_from_the_report_that_passed_to_its_answer_without_the_hold() {
        let mut reports = Reports::default();
        take(&mut reports, &sender_report(5, 0), Direction::Fwd, 1_000_000_000);
        // Held for half a second.
        let answer = receiver_report(0x4000_0003, 80, 5 << 16, 32_768);
        take(&mut reports, &answer, Direction::Rev, 1_530_000_000);
        // An answer in the direction of the sender is not one, nor is one that came too early.
        take(&mut reports, &answer, Direction::Fwd, 1_530_000_000);
        take(&mut reports, &answer, Direction::Rev, 1_400_000_000);
        let pair = &reports.pairs[0];
        assert_eq!((pair.reports, pair.round_trips, pair.lost_packets), (2, 1, 3));
        assert_eq!(pair.round_trip_us(), Some((30_000, 30_000.0, 30_000)));
        assert_eq!(pair.fraction_lost(), (0.25, 0.25));
        assert!((pair.jitter_mean_units() - 80.0).abs() < 1e-9);
        assert_eq!((reports.packets, reports.pairs.len()), (4, 2));
        assert_eq!(reports.pairs[1].round_trip_us(), None);
    }

    #[test]
    fn srtcp_counts_from_the_second_packet_of_a_source_on() {
        let mut reports = Reports::default();
        let mut secure = receiver_report(0, 0, 0, 0);
        secure.extend([0x33; 14]);
        take(&mut reports, &secure, Direction::Fwd, 1);
        assert_eq!(reports.secure_packets(), 0);
        take(&mut reports, &secure, Direction::Rev, 2);
        assert_eq!(
            (reports.secure_packets(), reports.packets, reports.pairs.len()),
            (2, 0, 0)
        );
        for source in 0..100u8 {
            secure[7] = source;
            take(&mut reports, &secure, Direction::Fwd, 3);
        }
        assert!(reports.secure.len() <= SECURE_SOURCES);
        assert_eq!(reports.secure_packets(), 3);
    }

    /// The first `captured` bytes of a packet that is as long as `bytes`.
    fn take_cut(reports: &mut Reports, bytes: &[u8], captured: usize, time_ns: i64) {
        let rtcp = rtcp::datagram(&bytes[..captured], bytes.len() as u32).unwrap();
        assert_eq!(rtcp.form, Form::Cut);
        reports.take(&rtcp, Direction::Fwd, time_ns);
    }

    /// A sender report with a report block on source 7, encrypted behind its first eight bytes.
    fn encrypted(trailer: usize) -> Vec<u8> {
        let mut bytes = rtcp::tests::packet(rtcp::SENDER_REPORT, 1, &[7; 12]);
        let mut state = 7u32;
        for byte in &mut bytes[8..] {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        bytes.resize(bytes.len() + trailer, 0xa5);
        bytes
    }

    #[test]
    fn cut_packets_of_a_flow_without_a_whole_one_are_counted_and_say_nothing() {
        // The index and authentication tags of 4, 8 and 10 bytes (RFC 3711; RFC 7714), cut at and behind the block.
        for (trailer, captured) in [(8, 52), (12, 52), (14, 54), (20, 44)] {
            let mut reports = Reports::default();
            for time_ns in 0..100 {
                take_cut(&mut reports, &encrypted(trailer), captured, time_ns);
            }
            assert_eq!(
                (reports.packets, reports.cut_packets, reports.pairs.len()),
                (0, 100, 0)
            );
            assert!(reports.sent.is_empty() && reports.held.len() <= HELD_STATEMENTS);
            // Neither does a whole one that is encrypted make them speak, even in a flow that has others in the clear.
            take(&mut reports, &encrypted(trailer), Direction::Fwd, 100);
            take(&mut reports, &receiver_report(1, 80, 0, 0), Direction::Rev, 101);
            take_cut(&mut reports, &encrypted(trailer), captured, 102);
            assert_eq!(
                (reports.pairs.len(), reports.refused, reports.cut_packets),
                (1, 0, 101)
            );
            assert_eq!(reports.pairs[0].reporter, 8);
        }
    }

    #[test]
    fn cut_packets_are_read_if_a_whole_one_before_or_after_them_is_in_the_clear() {
        let long = [sender_report(5, 0), rtcp::tests::packet(204, 0, &[7; 40])].concat();
        let answer = receiver_report(0, 80, 5 << 16, 0);
        let mut reports = Reports::default();
        take_cut(&mut reports, &long, 42, 1_000_000_000);
        take(&mut reports, &answer, Direction::Rev, 1_030_000_000);
        take_cut(&mut reports, &long, 42, 2_000_000_000);
        take(&mut reports, &answer, Direction::Rev, 2_020_000_000);
        assert_eq!((reports.packets, reports.cut_packets), (2, 2));
        assert_eq!(reports.pairs[0].round_trip_us(), Some((20_000, 25_000.0, 30_000)));
    }

    #[test]
    fn reports_of_cut_packets_beyond_those_that_are_held_are_counted() {
        let long = [
            receiver_report(1, 80, 0, 0),
            rtcp::tests::packet(204, 0, &[7; 40]),
        ]
        .concat();
        let cut = receiver_report(1, 80, 0, 0).len();
        let mut reports = Reports::default();
        for time_ns in 0..100 {
            take_cut(&mut reports, &long, cut, time_ns);
        }
        assert_eq!((reports.unplaced, reports.held.len()), (0, HELD_STATEMENTS));
        take(&mut reports, &receiver_report(1, 80, 0, 0), Direction::Fwd, 100);
        assert_eq!((reports.pairs[0].reports, reports.unplaced), (65, 36));
        // So are times of sender reports, of which a cut packet may say nothing but that.
        let long = [sender_report(5, 0), rtcp::tests::packet(204, 0, &[7; 40])].concat();
        let mut reports = Reports::default();
        for time_ns in 0..100 {
            take_cut(&mut reports, &long, 28, time_ns);
        }
        take(&mut reports, &sender_report(5, 0), Direction::Fwd, 100);
        assert_eq!((reports.pairs.len(), reports.unplaced), (0, 36));
        // Of a source that turns out to be encrypted, they were none.
        let mut reports = Reports::default();
        for time_ns in 0..100 {
            take_cut(&mut reports, &encrypted(14), 54, time_ns);
        }
        take(&mut reports, &encrypted(14), Direction::Fwd, 100);
        take(&mut reports, &receiver_report(1, 80, 0, 0), Direction::Rev, 101);
        assert_eq!((reports.pairs.len(), reports.unplaced), (1, 0));
    }

    #[test]
    fn a_report_that_says_what_none_can_is_counted_and_not_pooled() {
        let mut reports = Reports::default();
        for jitter in [80, u32::MAX] {
            take(&mut reports, &receiver_report(3, jitter, 0, 0), Direction::Fwd, 1);
        }
        let pair = &reports.pairs[0];
        assert_eq!((reports.refused, pair.reports, pair.jitter_max_units), (1, 1, 80));
    }

    #[test]
    fn reports_of_too_many_pairs_are_counted() {
        let mut reports = Reports::default();
        for source in 0..300u16 {
            let mut bytes = receiver_report(0, 0, 0, 0);
            bytes[10..12].copy_from_slice(&source.to_be_bytes());
            take(&mut reports, &bytes, Direction::Fwd, 3);
        }
        assert_eq!((reports.pairs.len(), reports.unplaced), (PAIRS, 44));
    }
}
