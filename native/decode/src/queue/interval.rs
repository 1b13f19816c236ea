//! Rows of `queue_interval`: what came, went and was dropped, and how long the queue was, in each interval of time.

use std::collections::VecDeque;

use super::silence::Silences;

/// Rows are kept back for so long, because a drop inside a queue may become known only later.
pub(crate) const HOLD_NS: i64 = 5_000_000_000;
/// Models add up what logs lost; of more events, it is known that they are at least as many.
pub(crate) const MOST_LOST_EVENTS: i64 = 1 << 40;

/// Packets, and their bytes where the log gives lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) packets: i64,
    bytes: i64,
    unknown_lengths: bool,
}

impl Tally {
    fn add(&mut self, packet_bytes: Option<i32>) {
        self.packets += 1;
        match packet_bytes {
            Some(bytes) => self.bytes += i64::from(bytes),
            None => self.unknown_lengths = true,
        }
    }

    pub(crate) fn bytes(&self) -> Option<i64> {
        (!self.unknown_lengths).then_some(self.bytes)
    }
}

/// A row under construction; integrals over time are in nanoseconds times packets or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueInterval {
    pub(crate) queue: u32,
    pub(crate) start_ns: i64,
    /// How many more intervals like this one follow it: a long silence waits as one row.
    repeats: i64,
    pub(crate) observed_ns: i64,
    pub(crate) arrived: Tally,
    pub(crate) departed: Tally,
    pub(crate) dropped: Tally,
    pub(crate) dropped_at_enqueue: i64,
    pub(crate) dropped_in_queue: i64,
    packet_time: i128,
    byte_time: Option<i128>,
    busy_ns: i64,
    pub(crate) most_packets: i64,
    pub(crate) most_bytes: Option<i64>,
    pub(crate) least_sojourn_ns: Option<i64>,
    pub(crate) lost_events: i64,
}

impl QueueInterval {
    fn new(queue: u32, start_ns: i64, length: Length) -> Self {
        Self {
            queue,
            start_ns,
            repeats: 0,
            observed_ns: 0,
            arrived: Tally::default(),
            departed: Tally::default(),
            dropped: Tally::default(),
            dropped_at_enqueue: 0,
            dropped_in_queue: 0,
            packet_time: 0,
            byte_time: Some(0),
            busy_ns: 0,
            most_packets: length.packets,
            most_bytes: length.bytes,
            least_sojourn_ns: None,
            lost_events: 0,
        }
    }

    fn span(&mut self, span_ns: i64, length: Length) {
        self.observed_ns += span_ns;
        self.packet_time += i128::from(length.packets) * i128::from(span_ns);
        self.byte_time = match (self.byte_time, length.bytes) {
            (Some(sum), Some(bytes)) => Some(sum + i128::from(bytes) * i128::from(span_ns)),
            _ => None,
        };
        if length.packets > 0 {
            self.busy_ns += span_ns;
        }
    }

    fn over_time(&self, integral: i128) -> Option<f64> {
        (self.observed_ns > 0).then(|| integral as f64 / self.observed_ns as f64)
    }

    pub(crate) fn mean_packets(&self) -> Option<f64> {
        self.over_time(self.packet_time)
    }

    pub(crate) fn mean_bytes(&self) -> Option<f64> {
        self.over_time(self.byte_time?)
    }

    pub(crate) fn busy_ratio(&self) -> Option<f64> {
        self.over_time(i128::from(self.busy_ns))
    }
}

/// Length of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) packets: i64,
    pub(crate) bytes: Option<i64>,
}

/// One queue's present length, and its rows that were not handed out yet; the last of them is the present one.
#[derive(Debug)]
struct Account {
    length: Length,
    until_ns: i64,
    rows: VecDeque<QueueInterval>,
}

impl Account {
    fn advance(&mut self, queue: u32, now_ns: i64, interval_ns: i64, silences: &mut Silences) {
        if !silences.have_rows(now_ns.saturating_sub(self.until_ns), interval_ns) {
            // One of the two times is wrong, the probe did not run, or the rows would be too many: nothing is said of
            // the time between them.
            self.until_ns = now_ns;
            let start_ns = now_ns.div_euclid(interval_ns) * interval_ns;
            self.rows
                .push_back(QueueInterval::new(queue, start_ns, self.length));
            return;
        }
        while let Some(row) = self.rows.back_mut() {
            let end_ns = row.start_ns.saturating_add(interval_ns);
            if now_ns < end_ns {
                row.span(now_ns.saturating_sub(self.until_ns), self.length);
                self.until_ns = now_ns;
                return;
            }
            row.span(end_ns - self.until_ns, self.length);
            self.until_ns = end_ns;
            // The last intervals of a silence are separate, because a drop may still be counted there.
            let silent = now_ns.saturating_sub(end_ns) / interval_ns - (HOLD_NS / interval_ns + 2);
            if silent > 1 {
                let mut silence = QueueInterval::new(queue, end_ns, self.length);
                silence.span(interval_ns, self.length);
                silence.repeats = silent - 1;
                self.rows.push_back(silence);
                self.until_ns = end_ns + silent * interval_ns;
            }
            self.rows
                .push_back(QueueInterval::new(queue, self.until_ns, self.length));
        }
    }
}

/// The intervals of every queue of a log. Times never go back, but for [`Self::dropped_in_queue`].
#[derive(Debug)]
pub(crate) struct QueueIntervals {
    interval_ns: i64,
    silences: Silences,
    accounts: Vec<Option<Account>>,
    lost_before_first: i64,
    now_ns: i64,
}

impl QueueIntervals {
    pub(crate) fn new(interval_ns: i64, longest_silence_ns: i64) -> Self {
        Self {
            interval_ns: interval_ns.max(1),
            silences: Silences::new(longest_silence_ns),
            accounts: Vec::new(),
            lost_before_first: 0,
            now_ns: i64::MIN,
        }
    }

    /// The present row of a queue at a time, after all before it was accounted for.
    fn row(&mut self, queue: u32, now_ns: i64) -> Option<(&mut QueueInterval, &mut Length)> {
        let place = queue as usize;
        if self.accounts.len() <= place {
            self.accounts.resize_with(place + 1, || None);
        }
        self.now_ns = self.now_ns.max(now_ns);
        let (interval_ns, silences) = (self.interval_ns, &mut self.silences);
        silences.add_change();
        let lost_before_first = &mut self.lost_before_first;
        let account = self.accounts.get_mut(place)?.get_or_insert_with(|| {
            let start_ns = now_ns.div_euclid(interval_ns) * interval_ns;
            let mut row = QueueInterval::new(queue, start_ns, Length::default());
            if queue == 0 {
                row.lost_events = std::mem::take(lost_before_first);
            }
            Account {
                // Nothing is known of the queue before its first event; the bytes come with that.
                length: Length {
                    packets: 0,
                    bytes: Some(0),
                },
                until_ns: now_ns,
                rows: VecDeque::from([row]),
            }
        });
        account.advance(queue, now_ns, interval_ns, silences);
        account.rows.back_mut().map(|row| (row, &mut account.length))
    }

    pub(crate) fn arrived(&mut self, queue: u32, now_ns: i64, packet_bytes: Option<i32>) {
        if let Some((row, _)) = self.row(queue, now_ns) {
            row.arrived.add(packet_bytes);
        }
    }

    pub(crate) fn departed(
        &mut self,
        queue: u32,
        now_ns: i64,
        packet_bytes: Option<i32>,
        sojourn_ns: Option<i64>,
    ) {
        if let Some((row, _)) = self.row(queue, now_ns) {
            row.departed.add(packet_bytes);
            row.least_sojourn_ns = match (row.least_sojourn_ns, sojourn_ns) {
                (Some(least), Some(sojourn)) => Some(least.min(sojourn)),
                (least, sojourn) => least.or(sojourn),
            };
        }
    }

    pub(crate) fn dropped_at_enqueue(&mut self, queue: u32, now_ns: i64, packet_bytes: Option<i32>) {
        if let Some((row, _)) = self.row(queue, now_ns) {
            row.arrived.add(packet_bytes);
            row.dropped.add(packet_bytes);
            row.dropped_at_enqueue += 1;
        }
    }

    /// Count a drop at an earlier time, but not further back than [`HOLD_NS`].
    pub(crate) fn dropped_in_queue(&mut self, queue: u32, time_ns: i64, packet_bytes: Option<i32>) {
        let interval_ns = self.interval_ns;
        let Some(Some(account)) = self.accounts.get_mut(queue as usize) else {
            return;
        };
        let back = account.rows.back().map_or(0, |row| {
            row.start_ns
                .saturating_sub(time_ns)
                .saturating_add(interval_ns - 1)
                / interval_ns
        });
        let back = usize::try_from(back).unwrap_or(0);
        let place = account.rows.len().saturating_sub(1 + back);
        if let Some(row) = account.rows.get_mut(place) {
            row.dropped.add(packet_bytes);
            row.dropped_in_queue += 1;
        }
    }

    /// Note how long a queue is from now on.
    pub(crate) fn set_length(&mut self, queue: u32, now_ns: i64, change: impl FnOnce(Length) -> Length) {
        if let Some((row, length)) = self.row(queue, now_ns) {
            *length = change(*length);
            row.most_packets = row.most_packets.max(length.packets);
            row.most_bytes = match (row.most_bytes, length.bytes) {
                (Some(most), Some(bytes)) => Some(most.max(bytes)),
                // The first length of a queue, or a length that is not known.
                (most, bytes) => bytes.filter(|_| most.is_none() && row.observed_ns == 0),
            };
        }
    }

    /// Note events that were lost by now.
    pub(crate) fn lost(&mut self, events: i64) {
        match self.accounts.first_mut() {
            Some(Some(account)) => {
                let now_ns = self.now_ns.max(account.until_ns);
                account.advance(0, now_ns, self.interval_ns, &mut self.silences);
                if let Some(row) = account.rows.back_mut() {
                    row.lost_events = MOST_LOST_EVENTS.min(row.lost_events + events);
                }
            }
            _ => self.lost_before_first = MOST_LOST_EVENTS.min(self.lost_before_first + events),
        }
    }

    /// The log ends: every queue is accounted for until its last event.
    pub(crate) fn close(&mut self) {
        for (queue, account) in (0..).zip(&mut self.accounts) {
            if let Some(account) = account {
                let now_ns = self.now_ns.max(account.until_ns);
                account.advance(queue, now_ns, self.interval_ns, &mut self.silences);
            }
        }
    }

    /// How many silences have no rows because they would have too many.
    pub(crate) fn silences_left_out(&self) -> u64 {
        self.silences.left_out()
    }

    /// Rows to which nothing can be added any more; all of them once the log has ended.
    pub(crate) fn take(&mut self, rows: usize, closed: bool) -> Vec<QueueInterval> {
        let before_ns = self.now_ns.saturating_sub(HOLD_NS + self.interval_ns);
        let mut taken = Vec::new();
        for account in self.accounts.iter_mut().flatten() {
            while taken.len() < rows {
                let due = closed
                    || (account.rows.len() > 1
                        && account
                            .rows
                            .front()
                            .is_some_and(|row| row.start_ns.saturating_add(self.interval_ns) < before_ns));
                if !due {
                    break;
                }
                match account.rows.front_mut() {
                    Some(silence) if silence.repeats > 0 => {
                        let mut row = silence.clone();
                        row.repeats = 0;
                        taken.push(row);
                        silence.repeats -= 1;
                        silence.start_ns += self.interval_ns;
                    }
                    Some(_) => taken.extend(account.rows.pop_front()),
                    None => break,
                }
            }
        }
        taken
    }

    /// About how many rows wait, whether they may be handed out or not.
    pub(crate) fn waiting(&self) -> usize {
        self.accounts
            .iter()
            .flatten()
            .flat_map(|account| &account.rows)
            .map(|row| 1 + usize::try_from(row.repeats).unwrap_or(0))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn length(packets: i64) -> impl FnOnce(Length) -> Length {
        move |_| Length {
            packets,
            bytes: Some(packets * 100),
        }
    }

    #[test]
    fn occupancy_is_weighted_by_time_and_carried_through_silent_intervals() {
        let mut intervals = QueueIntervals::new(100 * MS, 86_400_000 * MS);
        // Two packets from 150 to 175 ms, one until 420 ms.
        intervals.arrived(0, 150 * MS, Some(100));
        intervals.arrived(0, 150 * MS, Some(100));
        intervals.set_length(0, 150 * MS, length(2));
        intervals.departed(0, 175 * MS, Some(100), Some(25 * MS));
        intervals.set_length(0, 175 * MS, length(1));
        intervals.departed(0, 420 * MS, Some(100), Some(270 * MS));
        intervals.set_length(0, 420 * MS, length(0));
        intervals.close();
        let rows = intervals.take(100, true);
        let occupancies: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.start_ns / MS,
                    row.observed_ns / MS,
                    row.mean_packets(),
                    row.busy_ratio(),
                    row.most_packets,
                )
            })
            .collect();
        assert_eq!(
            occupancies,
            [
                (100, 50, Some(1.5), Some(1.0), 2),
                (200, 100, Some(1.0), Some(1.0), 1),
                (300, 100, Some(1.0), Some(1.0), 1),
                (400, 20, Some(1.0), Some(1.0), 1),
            ]
        );
        assert_eq!(rows[0].mean_bytes(), Some(150.0));
        assert_eq!(
            (rows[0].arrived.packets, rows[3].departed.bytes()),
            (2, Some(100))
        );
        assert_eq!(rows[3].least_sojourn_ns, Some(270 * MS));
    }

    #[test]
    fn a_drop_known_late_counts_where_it_happened() {
        let mut intervals = QueueIntervals::new(100 * MS, 86_400_000 * MS);
        intervals.set_length(0, 0, length(1));
        intervals.set_length(0, 950 * MS, length(1));
        intervals.dropped_in_queue(0, 400 * MS, None);
        intervals.dropped_in_queue(0, 399 * MS, None);
        intervals.dropped_in_queue(0, 950 * MS, None);
        assert!(intervals.take(100, false).is_empty());
        intervals.set_length(0, 7000 * MS, length(0));
        let rows = intervals.take(100, false);
        let dropped: Vec<_> = rows
            .iter()
            .filter(|row| row.dropped_in_queue > 0)
            .map(|row| (row.start_ns / MS, row.dropped.packets, row.dropped.bytes()))
            .collect();
        assert_eq!(dropped, [(300, 1, None), (400, 1, None), (900, 1, None)]);
    }

    #[test]
    fn a_long_silence_waits_as_one_row_and_is_handed_out_as_all_its_intervals() {
        let mut intervals = QueueIntervals::new(100 * MS, 86_400_000 * MS);
        intervals.set_length(0, 50 * MS, length(2));
        intervals.set_length(0, 86_400_050 * MS, length(0));
        assert!(
            intervals.accounts[0]
                .as_ref()
                .is_some_and(|account| account.rows.len() < 60)
        );
        assert_eq!(intervals.waiting(), 864_001);
        intervals.dropped_in_queue(0, 86_395_150 * MS, None);
        intervals.close();
        let mut rows = Vec::new();
        while let taken @ [_, ..] = intervals.take(1000, true).as_slice() {
            rows.extend_from_slice(taken);
        }
        assert_eq!(rows.len(), 864_001);
        assert!(
            (0..)
                .zip(&rows)
                .all(|(place, row)| row.start_ns == place * 100 * MS)
        );
        let silent = &rows[1..864_000];
        assert!(silent.iter().all(|row| row.observed_ns == 100 * MS
            && row.mean_packets() == Some(2.0)
            && row.busy_ratio() == Some(1.0)
            && row.most_packets == 2));
        let dropped: Vec<_> = rows.iter().filter(|row| row.dropped_in_queue > 0).collect();
        assert_eq!(dropped.len(), 1);
        assert_eq!(dropped[0].start_ns, 86_395_100 * MS);
    }

    #[test]
    fn time_beyond_the_longest_silence_is_in_no_interval() {
        let mut intervals = QueueIntervals::new(100 * MS, 1000 * MS);
        intervals.set_length(0, 50 * MS, length(2));
        intervals.set_length(0, 90 * MS, length(1));
        intervals.set_length(0, 86_400_050 * MS, length(1));
        intervals.set_length(0, 86_400_060 * MS, length(0));
        intervals.close();
        let rows: Vec<_> = intervals
            .take(100, true)
            .iter()
            .map(|row| (row.start_ns / MS, row.observed_ns / MS))
            .collect();
        assert_eq!(rows, [(0, 40), (86_400_000, 10)]);
    }

    #[test]
    fn lost_events_stand_where_they_were_reported() {
        let mut intervals = QueueIntervals::new(100 * MS, 86_400_000 * MS);
        intervals.lost(2);
        intervals.set_length(0, 50 * MS, length(0));
        intervals.set_length(1, 250 * MS, length(0));
        intervals.lost(3);
        intervals.close();
        let lost: Vec<_> = intervals
            .take(100, true)
            .iter()
            .map(|row| (row.queue, row.lost_events))
            .collect();
        assert_eq!(lost, [(0, 2), (0, 0), (0, 3), (1, 0)]);
    }

    #[test]
    fn lost_events_of_an_interval_are_counted_up_to_what_can_be_added_up() {
        let mut intervals = QueueIntervals::new(100 * MS, 86_400_000 * MS);
        intervals.lost(MOST_LOST_EVENTS);
        intervals.lost(MOST_LOST_EVENTS);
        intervals.set_length(0, 50 * MS, length(0));
        intervals.lost(MOST_LOST_EVENTS);
        intervals.close();
        let lost: Vec<_> = intervals
            .take(100, true)
            .iter()
            .map(|row| row.lost_events)
            .collect();
        assert_eq!(lost, [MOST_LOST_EVENTS]);
    }
}
