//! Arrow batches of the tables `queue_interval`, `queue` and `queue_log`.

use arrow_array::RecordBatch;

use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::queue::event::{EventKind, QueueId};
use crate::queue::interval::QueueInterval;

/// Counts and times of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EventCounts {
    enqueues: i64,
    dequeues: i64,
    drops: i64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
}

impl EventCounts {
    /// Count an event; they come in the order of time.
    fn count(&mut self, kind: EventKind, time_ns: i64) {
        match kind {
            EventKind::Enqueue => self.enqueues += 1,
            EventKind::Dequeue => self.dequeues += 1,
            EventKind::Drop | EventKind::Refuse | EventKind::Free => self.drops += 1,
        }
        self.first_ns.get_or_insert(time_ns);
        self.last_ns = Some(time_ns);
    }
}

/// The row of `queue_log`.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueLogRow {
    counts: EventCounts,
    pub(crate) lost_events: i64,
    pub(crate) lost_events_is_minimum: bool,
    pub(crate) probe_failed: bool,
    /// The log's times are UTC, by its own offset or by its form.
    pub(crate) utc: bool,
    pub(crate) clock_offset_ns: Option<i64>,
    /// Dequeues and enqueues that the probe held open when it stopped, and where it says so.
    pub(crate) stated_open: Option<(i64, i64, u64)>,
    /// The same as found.
    pub(crate) open: Option<(i64, i64)>,
}

impl QueueLogRow {
    pub(crate) fn clock(&self) -> &'static str {
        if self.utc { "utc" } else { "monotonic" }
    }

    pub(crate) fn count(&mut self, kind: EventKind, time_ns: i64) {
        self.counts.count(kind, time_ns);
    }
}

/// A row of `queue`.
#[derive(Debug, Clone)]
pub(crate) struct QueueRow {
    pub(crate) id: QueueId,
    counts: EventCounts,
    drop_counter: Option<(u32, u32)>,
}

impl QueueRow {
    pub(crate) fn new(id: QueueId) -> Self {
        Self {
            id,
            counts: EventCounts::default(),
            drop_counter: None,
        }
    }

    pub(crate) fn count(&mut self, kind: EventKind, time_ns: i64, drop_counter: Option<u32>) {
        self.counts.count(kind, time_ns);
        if let Some(counter) = drop_counter {
            let first = self.drop_counter.map_or(counter, |(first, _)| first);
            self.drop_counter = Some((first, counter));
        }
    }
}

pub(crate) fn queue_intervals(
    rows: &[QueueInterval],
    interval_ms: i32,
    clock: &'static str,
) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int32("queue_number", |row| row.queue as i32);
    columns.int64("interval_start_ns", |row| row.start_ns);
    columns.string("clock", |_| clock);
    columns.int32("interval_ms", |_| interval_ms);
    columns.int64("observed_ns", |row| row.observed_ns);
    columns.int64("arrived_packets", |row| row.arrived.packets);
    columns.optional_int64("arrived_bytes", |row| row.arrived.bytes());
    columns.int64("departed_packets", |row| row.departed.packets);
    columns.optional_int64("departed_bytes", |row| row.departed.bytes());
    columns.int64("dropped_packets", |row| row.dropped.packets);
    columns.optional_int64("dropped_bytes", |row| row.dropped.bytes());
    columns.int64("dropped_at_enqueue_packets", |row| row.dropped_at_enqueue);
    columns.int64("dropped_in_queue_packets", |row| row.dropped_in_queue);
    columns.optional_float64("occupancy_mean_packets", QueueInterval::mean_packets);
    columns.optional_float64("occupancy_mean_bytes", QueueInterval::mean_bytes);
    columns.int64("occupancy_max_packets", |row| row.most_packets);
    columns.optional_int64("occupancy_max_bytes", |row| row.most_bytes);
    columns.optional_float64("busy_ratio", QueueInterval::busy_ratio);
    columns.optional_int64("sojourn_min_us", |row| {
        row.least_sojourn_ns.map(|least| least.div_euclid(1000))
    });
    columns.int64("lost_events", |row| row.lost_events);
    columns.into_batch()
}

pub(crate) fn queues(rows: &[QueueRow]) -> Result<RecordBatch, Fault> {
    let numbered: Vec<(i32, &QueueRow)> = (0..).zip(rows).collect();
    let mut columns = Columns::over(&numbered);
    columns.int32("queue_number", |(number, _)| *number);
    columns.optional_int32("interface_index", |(_, queue)| queue.id.interface_index);
    columns.optional_string("interface_name", |(_, queue)| {
        let name = queue.id.interface_name.as_ref()?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Some(String::from_utf8_lossy(name.get(..end)?).into_owned())
    });
    columns.optional_int64("network_namespace", |(_, queue)| queue.id.network_namespace);
    columns.optional_string("handle", |(_, queue)| {
        // As tc prints it: the major number, and the minor one where there is one.
        let handle = queue.id.handle?;
        let (major, minor) = (handle >> 16, handle & 0xffff);
        Some(if minor == 0 {
            format!("{major:x}:")
        } else {
            format!("{major:x}:{minor:x}")
        })
    });
    columns.int64("enqueue_events", |(_, queue)| queue.counts.enqueues);
    columns.int64("dequeue_events", |(_, queue)| queue.counts.dequeues);
    columns.int64("drop_events", |(_, queue)| queue.counts.drops);
    columns.optional_int64("counted_drops", |(_, queue)| {
        let (first, last) = queue.drop_counter?;
        Some(i64::from(last.wrapping_sub(first)))
    });
    columns.optional_int64("first_event_ns", |(_, queue)| queue.counts.first_ns);
    columns.optional_int64("last_event_ns", |(_, queue)| queue.counts.last_ns);
    columns.into_batch()
}

pub(crate) fn queue_log(row: QueueLogRow) -> Result<RecordBatch, Fault> {
    let clock = row.clock();
    let rows = [row];
    let mut columns = Columns::over(&rows);
    columns.int64("enqueue_events", |log| log.counts.enqueues);
    columns.int64("dequeue_events", |log| log.counts.dequeues);
    columns.int64("drop_events", |log| log.counts.drops);
    columns.int64("lost_events", |log| log.lost_events);
    columns.bool("lost_events_is_minimum", |log| log.lost_events_is_minimum);
    columns.bool("probe_failed", |log| log.probe_failed);
    columns.optional_int64("first_event_ns", |log| log.counts.first_ns);
    columns.optional_int64("last_event_ns", |log| log.counts.last_ns);
    columns.string("clock", |_| clock);
    columns.optional_int64("clock_offset_ns", |log| log.clock_offset_ns);
    columns.optional_int64("open_enqueues", |log| log.open.map(|(_, enqueues)| enqueues));
    columns.optional_int64("open_dequeues", |log| log.open.map(|(dequeues, _)| dequeues));
    columns.optional_int64("stated_open_enqueues", |log| {
        log.stated_open.map(|(_, enqueues, _)| enqueues)
    });
    columns.optional_int64("stated_open_dequeues", |log| {
        log.stated_open.map(|(dequeues, _, _)| dequeues)
    });
    columns.into_batch()
}
