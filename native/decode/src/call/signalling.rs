//! How a call is set up: STUN transactions and the handshake of DTLS.

use crate::call::dtls::DtlsRecords;
use crate::call::stun::{Class, StunMessage};
use crate::output::units::{LONGEST_DELAY_NS, microseconds};
use crate::packet::direction::{Direction, PerDirection};

/// Requests whose answer is awaited, or may be repeated.
const PENDING: usize = 32;
/// Zoom's servers answer to classic requests with this method, whose own request is never sent over UDP.
const METHOD_SHARED_SECRET: u16 = 2;

#[derive(Debug, Clone, Copy)]
struct Pending {
    transaction: [u8; 16],
    direction: Direction,
    time_ns: i64,
    repeated: bool,
    answered: bool,
}

/// The STUN messages of one flow.
#[derive(Debug, Default)]
pub(crate) struct Stun {
    pub(crate) requests: i64,
    pub(crate) successes: i64,
    pub(crate) errors: i64,
    pub(crate) indications: i64,
    pub(crate) classic: i64,
    pub(crate) allocations: i64,
    first_request_ns: Option<i64>,
    first_success_ns: Option<i64>,
    pub(crate) round_trips: i64,
    round_trip_sum_ns: i128,
    round_trip_min_ns: Option<i64>,
    pending: Vec<Pending>,
}

impl Stun {
    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.pending.capacity() * size_of::<Pending>()
    }

    /// Take a message; whether it counts as one.
    pub(crate) fn take(&mut self, message: &StunMessage<'_>, direction: Direction, time_ns: i64) -> bool {
        let by_transaction = message.classic && message.method == METHOD_SHARED_SECRET;
        let class = if by_transaction {
            if self.pending(&message.transaction, direction.opposite()).is_none() {
                return false;
            }
            Class::Success
        } else {
            message.class
        };
        self.classic += i64::from(message.classic);
        match class {
            Class::Request => {
                self.requests += 1;
                self.request(message, direction, time_ns);
            }
            Class::Indication => self.indications += 1,
            Class::Error => {
                self.errors += 1;
                self.answer(message, direction, time_ns);
            }
            Class::Success => {
                self.successes += 1;
                self.allocations += i64::from(message.is_allocation());
                self.answer(message, direction, time_ns);
                let sets_up = message.is_binding() || message.is_allocation() || by_transaction;
                if sets_up && self.first_request_ns.is_some_and(|first_ns| first_ns <= time_ns) {
                    self.first_success_ns.get_or_insert(time_ns);
                }
            }
        }
        true
    }

    fn pending(&self, transaction: &[u8; 16], direction: Direction) -> Option<usize> {
        let is_it = |pending: &Pending| pending.transaction == *transaction && pending.direction == direction;
        self.pending.iter().position(is_it)
    }

    fn request(&mut self, message: &StunMessage<'_>, direction: Direction, time_ns: i64) {
        self.first_request_ns.get_or_insert(time_ns);
        let pending_place = self.pending(&message.transaction, direction);
        if let Some(pending) = pending_place.and_then(|place| self.pending.get_mut(place)) {
            pending.repeated = true;
            return;
        }
        if self.pending.len() == PENDING {
            self.pending.remove(0);
        }
        self.pending.push(Pending {
            transaction: message.transaction,
            direction,
            time_ns,
            repeated: false,
            answered: false,
        });
    }

    /// The first answer gives the round trip. If the request was repeated, it does not tell to which one it answers.
    fn answer(&mut self, message: &StunMessage<'_>, direction: Direction, time_ns: i64) {
        let pending_place = self.pending(&message.transaction, direction.opposite());
        let Some(pending) = pending_place.and_then(|place| self.pending.get_mut(place)) else {
            return;
        };
        if std::mem::replace(&mut pending.answered, true) {
            return;
        }
        let round_trip_ns = time_ns.saturating_sub(pending.time_ns);
        if pending.repeated || !(0..=LONGEST_DELAY_NS).contains(&round_trip_ns) {
            return;
        }
        self.round_trips += 1;
        self.round_trip_sum_ns += i128::from(round_trip_ns);
        let smallest_ns = self
            .round_trip_min_ns
            .map_or(round_trip_ns, |smallest_ns| smallest_ns.min(round_trip_ns));
        self.round_trip_min_ns = Some(smallest_ns);
    }

    pub(crate) fn messages(&self) -> i64 {
        self.requests + self.successes + self.errors + self.indications
    }

    pub(crate) fn first_request_ns(&self) -> Option<i64> {
        self.first_request_ns
    }

    /// Time from the first request to the first success, all attempts and authentication between them included.
    pub(crate) fn set_up_ns(&self) -> Option<i64> {
        Some(self.first_success_ns? - self.first_request_ns?)
    }

    /// Minimum and mean round trip, of requests that were sent once.
    pub(crate) fn round_trip_us(&self) -> Option<(i64, f64)> {
        let mean_ns = self.round_trip_sum_ns as f64 / self.round_trips.max(1) as f64;
        Some((microseconds(self.round_trip_min_ns?), mean_ns / 1e3))
    }
}

/// The handshake of DTLS in one flow.
#[derive(Debug, Default)]
pub(crate) struct Dtls {
    pub(crate) packets: i64,
    pub(crate) first_hello_ns: Option<i64>,
    completed_ns: Option<i64>,
    /// Description of the fatal alert that came before the handshake was completed.
    pub(crate) fatal_alert: Option<u8>,
    encrypted: PerDirection<bool>,
}

impl Dtls {
    pub(crate) fn take(&mut self, records: DtlsRecords, direction: Direction, time_ns: i64) {
        self.packets += 1;
        if records.client_hello {
            self.first_hello_ns.get_or_insert(time_ns);
        }
        *self.encrypted.get_mut(direction) |= records.encrypted;
        if self.completed_ns.is_none() && self.encrypted.fwd && self.encrypted.rev {
            self.completed_ns = Some(time_ns);
        }
        if self.completed_ns.is_none() {
            self.fatal_alert = self.fatal_alert.or(records.fatal_alert);
        }
    }

    /// How far the handshake came; `None` without DTLS.
    pub(crate) fn outcome(&self) -> Option<&'static str> {
        if self.packets == 0 {
            return None;
        }
        Some(match (self.first_hello_ns, self.completed_ns, self.fatal_alert) {
            (_, _, Some(_)) => "failed",
            (Some(_), Some(_), None) => "completed",
            (Some(_), None, None) => "started",
            (None, _, None) => "not_seen",
        })
    }

    /// Time from the first hello of the client until both ends had sent encrypted records.
    pub(crate) fn handshake_ns(&self) -> Option<i64> {
        // It is negative where the clock was set back meanwhile.
        Some(self.completed_ns? - self.first_hello_ns?).filter(|handshake_ns| *handshake_ns >= 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::dtls;
    use crate::call::dtls::tests::record;
    use crate::call::stun::tests::{classic, stun};

    fn take(state: &mut Stun, bytes: &[u8], direction: Direction, time_ns: i64) -> bool {
        let message = crate::call::stun::datagram(bytes, bytes.len() as u32).unwrap();
        state.take(&message, direction, time_ns)
    }

    #[test]
    fn set_up_ends_with_the_first_success_and_repeated_requests_give_no_round_trip() {
        let mut state = Stun::default();
        take(&mut state, &stun(0x0003, 1, &[]), Direction::Fwd, 0);
        take(&mut state, &stun(0x0113, 1, &[]), Direction::Rev, 20_000);
        take(&mut state, &stun(0x0003, 2, &[]), Direction::Fwd, 30_000);
        take(&mut state, &stun(0x0003, 2, &[]), Direction::Fwd, 40_000);
        take(&mut state, &stun(0x0103, 2, &[]), Direction::Rev, 50_000);
        // An answer to nothing, and one from the wrong end.
        take(&mut state, &stun(0x0101, 9, &[]), Direction::Rev, 60_000);
        take(&mut state, &stun(0x0001, 4, &[]), Direction::Fwd, 70_000);
        take(&mut state, &stun(0x0101, 4, &[]), Direction::Fwd, 80_000);
        assert_eq!(
            (state.requests, state.successes, state.errors, state.allocations),
            (4, 3, 1, 1)
        );
        assert_eq!(state.set_up_ns(), Some(50_000));
        assert_eq!((state.round_trips, state.round_trip_us()), (1, Some((20, 20.0))));
    }

    #[test]
    fn a_classic_answer_of_another_type_counts_by_its_transaction() {
        let mut state = Stun::default();
        assert!(!take(&mut state, &classic(2, 5, &[]), Direction::Rev, 0));
        take(&mut state, &classic(1, 5, &[]), Direction::Fwd, 1000);
        assert!(take(&mut state, &classic(2, 5, &[]), Direction::Rev, 9000));
        assert_eq!(
            (state.messages(), state.classic, state.set_up_ns()),
            (2, 2, Some(8000))
        );
    }

    #[test]
    fn pending_requests_are_bounded() {
        let mut state = Stun::default();
        for transaction in 0..200 {
            take(&mut state, &stun(1, transaction, &[]), Direction::Fwd, 0);
        }
        assert_eq!(state.pending.len(), PENDING);
    }

    #[test]
    fn a_handshake_is_completed_failed_or_only_started() {
        let outcome = |datagrams: &[(Vec<u8>, Direction)]| {
            let mut state = Dtls::default();
            for (place, (bytes, direction)) in datagrams.iter().enumerate() {
                let records = dtls::datagram(bytes, bytes.len() as u32, true).unwrap();
                state.take(records, *direction, place as i64);
            }
            (state.outcome(), state.handshake_ns(), state.fatal_alert)
        };
        let hello = (record(22, 0, &[1, 0]), Direction::Fwd);
        let [ours, theirs] = [Direction::Fwd, Direction::Rev].map(|way| (record(22, 1, &[9; 30]), way));
        let alert = (record(21, 0, &[2, 40]), Direction::Rev);
        assert_eq!(outcome(&[]), (None, None, None));
        assert_eq!(
            outcome(std::slice::from_ref(&hello)),
            (Some("started"), None, None)
        );
        assert_eq!(
            outcome(&[hello.clone(), ours.clone(), theirs.clone()]),
            (Some("completed"), Some(2), None)
        );
        assert_eq!(
            outcome(&[hello.clone(), ours.clone(), alert.clone()]),
            (Some("failed"), None, Some(40))
        );
        assert_eq!(
            outcome(&[hello, ours.clone(), theirs, alert]),
            (Some("completed"), Some(2), None)
        );
        assert_eq!(outcome(&[ours]), (Some("not_seen"), None, None));
    }
}
