//! Sequence numbers of an RTP stream: expected, received, reordered, duplicate (RFC 3550 A.1, A.3).

use crate::twos_complement::TwosComplement;

/// A jump beyond this is a restart of the sender once the next packet follows on (`MAX_DROPOUT`).
const LARGEST_JUMP: i64 = 3000;
/// Memory of received numbers, larger than the largest jump back.
const WINDOW_NUMBERS: usize = 4096;
const WORD_BITS: usize = 64;

/// What a sequence number was to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    New,
    /// New, and the packet before began other numbers.
    Restarted,
    Late,
    Duplicate,
    /// Far from the others; the next packet shows whether it is a stray or a restart.
    Stray,
}

/// The numbers received so far.
#[derive(Debug)]
pub(crate) struct SequenceTracker {
    lowest: i64,
    highest: i64,
    received: [u64; WINDOW_NUMBERS / WORD_BITS],
    distinct: i64,
    expected_before_restart: i64,
    stray: Option<u16>,
}

impl SequenceTracker {
    pub(crate) fn new(sequence: u16) -> Self {
        let mut tracker = Self {
            lowest: 0,
            highest: 0,
            received: [0; WINDOW_NUMBERS / WORD_BITS],
            distinct: 0,
            expected_before_restart: 0,
            stray: None,
        };
        tracker.begin(sequence);
        tracker
    }

    fn begin(&mut self, sequence: u16) {
        self.lowest = i64::from(sequence);
        self.highest = self.lowest;
        self.received.fill(0);
        self.mark(self.highest);
        self.distinct += 1;
    }

    fn slot(number: i64) -> (usize, u64) {
        let place = usize::try_from(number.rem_euclid(WINDOW_NUMBERS as i64)).unwrap_or_default();
        (place / WORD_BITS, 1 << (place % WORD_BITS))
    }

    /// Note a number as received; whether it had been before.
    fn mark(&mut self, number: i64) -> bool {
        let (word, bit) = Self::slot(number);
        let Some(word) = self.received.get_mut(word) else {
            return false;
        };
        let seen = *word & bit != 0;
        *word |= bit;
        seen
    }

    fn forget(&mut self, number: i64) {
        let (word, bit) = Self::slot(number);
        if let Some(word) = self.received.get_mut(word) {
            *word &= !bit;
        }
    }

    pub(crate) fn receive(&mut self, sequence: u16) -> Arrival {
        let [.., high, low] = self.highest.to_be_bytes();
        let highest = u16::from_be_bytes([high, low]);
        let step = i64::from(sequence.wrapping_sub(highest).signed());
        if step.abs() > LARGEST_JUMP {
            return self.receive_stray(sequence);
        }
        self.stray = None;
        let number = self.highest + step;
        if step > 0 {
            for passed in self.highest + 1..=number {
                self.forget(passed);
            }
            self.highest = number;
            self.mark(number);
            self.distinct += 1;
            Arrival::New
        } else if self.mark(number) {
            Arrival::Duplicate
        } else {
            self.lowest = self.lowest.min(number);
            self.distinct += 1;
            Arrival::Late
        }
    }

    fn receive_stray(&mut self, sequence: u16) -> Arrival {
        let Some(stray) = self.stray.replace(sequence) else {
            return Arrival::Stray;
        };
        if sequence != stray.wrapping_add(1) {
            return Arrival::Stray;
        }
        self.expected_before_restart += self.highest - self.lowest + 1;
        self.stray = None;
        self.begin(stray);
        self.receive(sequence);
        Arrival::Restarted
    }

    pub(crate) fn expected(&self) -> i64 {
        self.expected_before_restart + self.highest - self.lowest + 1
    }

    pub(crate) fn lost(&self) -> i64 {
        self.expected() - self.distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Duplicate, Late, New, Restarted, Stray};

    fn track(numbers: &[u16]) -> (SequenceTracker, Vec<Arrival>) {
        let mut tracker = SequenceTracker::new(numbers[0]);
        let arrivals = numbers[1..]
            .iter()
            .map(|number| tracker.receive(*number))
            .collect();
        (tracker, arrivals)
    }

    #[test]
    fn loss_counts_across_the_wrap() {
        let (tracker, _) = track(&[65_533, 65_534, 1, 2, 5]);
        assert_eq!((tracker.expected(), tracker.lost()), (9, 4));
    }

    #[test]
    fn late_and_duplicate_packets_are_told_apart() {
        let (tracker, arrivals) = track(&[10, 12, 11, 11, 12, 13]);
        assert_eq!(arrivals, [New, Late, Duplicate, Duplicate, New]);
        assert_eq!((tracker.expected(), tracker.lost()), (4, 0));
    }

    #[test]
    fn a_packet_from_before_the_first_extends_the_stream_downwards() {
        let (tracker, _) = track(&[0, 65_534, 1]);
        assert_eq!((tracker.expected(), tracker.lost()), (4, 1));
    }

    #[test]
    fn a_stray_number_is_ignored_and_a_restart_is_followed() {
        let (tracker, _) = track(&[10, 11, 40_000, 12]);
        assert_eq!((tracker.expected(), tracker.lost()), (3, 0));
        let (tracker, arrivals) = track(&[10, 11, 40_000, 40_001, 40_003]);
        assert_eq!(arrivals, [New, Stray, Restarted, New]);
        assert_eq!((tracker.expected(), tracker.lost()), (6, 1));
    }
}
