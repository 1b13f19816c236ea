//! Events of a queue log on their way to the pairing: checked, numbered by queue, and put into the order of time.

use hashbrown::HashMap;

use crate::output::fault::{Fault, FaultKind};
use crate::output::summary::Summary;
use crate::queue::batch::{QueueLogRow, QueueRow};
use crate::queue::event::{EventKind, QueueEvent, QueueId, QueueItem};
use crate::queue::interval::MOST_LOST_EVENTS;
use crate::queue::pairing::matching::{EventOf, QueuePairing, UNKNOWN_QUEUE};
use crate::queue::refusal::QueueLogRefusal;
use crate::queue::sort_window::{SortWindow, WINDOW_NS};

/// More queues than any host has; a damaged log could name a new one with each event.
const MOST_QUEUES: usize = 1024;
/// Times beyond the year 2096 are damage.
const LATEST_NS: i64 = 4_000_000_000_000_000_000;

/// What waits for its turn in time.
enum Timed {
    Event { queue: u32, event: QueueEvent },
    Lost(i64),
}

/// What was taken in of one log.
pub(crate) struct Intake {
    longest_silence_ns: i64,
    /// The log's events are of several processors, each in its own order.
    of_several_processors: bool,
    window: SortWindow<Timed>,
    pub(crate) pairing: QueuePairing,
    numbers: HashMap<QueueId, u32>,
    pub(crate) queues: Vec<QueueRow>,
    last_queue: Option<(QueueId, u32)>,
    pub(crate) log: QueueLogRow,
    events_read: bool,
    pub(crate) summary: Summary,
}

impl Intake {
    /// Nothing taken in yet.
    pub(crate) fn new(
        pairing: QueuePairing,
        log: QueueLogRow,
        longest_silence_ns: i64,
        of_several_processors: bool,
    ) -> Self {
        Self {
            longest_silence_ns,
            of_several_processors,
            window: SortWindow::default(),
            pairing,
            numbers: HashMap::new(),
            queues: Vec::new(),
            last_queue: None,
            log,
            events_read: false,
            summary: Summary::default(),
        }
    }

    /// Take in what one record or line says; `offset` is where it began.
    pub(crate) fn item(&mut self, item: QueueItem, offset: u64) {
        match item {
            QueueItem::Event(queue, event) => self.take_in(queue, event, offset),
            QueueItem::Lost { events, saturated } => {
                let total = self.log.lost_events.saturating_add(events);
                self.log.lost_events = total.min(MOST_LOST_EVENTS);
                self.log.lost_events_is_minimum |= saturated || total > MOST_LOST_EVENTS;
                let events = events.min(MOST_LOST_EVENTS);
                let newest_ns = self.window.newest_ns().filter(|_| self.events_read);
                self.pairing.losses().report(newest_ns);
                let newest_ns = newest_ns.unwrap_or(i64::MIN);
                if self.window.push(newest_ns, u8::MAX, Timed::Lost(events)).is_err() {
                    self.pairing.intervals().lost(events);
                }
                self.hand_on();
            }
            QueueItem::ClockOffset(offset_ns) => {
                if self.events_read || self.log.clock_offset_ns.is_some() {
                    let message = format!(
                        "queue log: the clock offset at offset {offset} comes after the first event or a second time; it was left out"
                    );
                    self.refuse(
                        QueueLogRefusal::LateClockOffset,
                        Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
                    );
                } else {
                    self.log.clock_offset_ns = Some(offset_ns);
                    self.log.utc = true;
                }
            }
            QueueItem::OpenAtEnd { dequeues, enqueues } => {
                self.log.stated_open = Some((dequeues, enqueues, offset));
            }
            QueueItem::Nothing => {}
        }
    }

    /// An event as read: its time is checked and brought to the log's clock, and it waits for its turn.
    fn take_in(&mut self, queue: QueueId, mut event: QueueEvent, offset: u64) {
        let offset_ns = self.log.clock_offset_ns.unwrap_or(0);
        let newest_ns = self.window.newest_ns().filter(|_| self.events_read);
        let time_ns = event.time_ns.checked_add(offset_ns).filter(|time_ns| {
            let silence_ns = newest_ns.map_or(0, |newest| time_ns.saturating_sub(newest));
            (0..LATEST_NS).contains(time_ns) && silence_ns <= self.longest_silence_ns
        });
        let Some(time_ns) = time_ns else {
            let message = format!(
                "queue log: the event at offset {offset} has an impossible time ({} ns); it was left out",
                event.time_ns
            );
            self.refuse(
                QueueLogRefusal::ImpossibleTime,
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        };
        event.time_ns = time_ns;
        let Some(number) = self.queue_number(queue, &event) else {
            let message = format!(
                "queue log: the event at offset {offset} belongs to a new queue after {MOST_QUEUES} others; it was left out"
            );
            self.refuse(
                QueueLogRefusal::TooManyQueues,
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        };
        // At the same time an enqueue goes before a dequeue in the binary form, whose events are of several
        // processors; a text is in the order in which the kernel worked.
        let rank = u8::from(self.of_several_processors && event.kind == EventKind::Dequeue);
        let timed = Timed::Event { queue: number, event };
        if self.window.push(time_ns, rank, timed).is_err() {
            let message = format!(
                "queue log: the event at offset {offset} lies more than {} ms before one read earlier; it was left out",
                WINDOW_NS / 1_000_000
            );
            self.refuse(
                QueueLogRefusal::TimeBackwards,
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        }
        self.events_read = true;
        self.pairing
            .losses()
            .event_read(self.window.newest_ns().unwrap_or(time_ns));
        self.summary.records_read += 1;
        self.hand_on();
    }

    /// What waits, and where it goes.
    fn paired(&mut self) -> (&mut SortWindow<Timed>, Paired<'_>) {
        let to = Paired {
            pairing: &mut self.pairing,
            queues: &mut self.queues,
            log: &mut self.log,
            summary: &mut self.summary,
        };
        (&mut self.window, to)
    }

    /// Hand on what need not wait any longer.
    fn hand_on(&mut self) {
        let (window, mut to) = self.paired();
        while window.next_due(|timed| to.pair(timed)) {}
    }

    /// The number of a queue, new ones being numbered as they come.
    fn queue_number(&mut self, queue: QueueId, event: &QueueEvent) -> Option<u32> {
        if event.kind == EventKind::Free {
            let only = (self.queues.len() <= 1 && queue == QueueId::default()).then_some(0);
            return self.numbers.get(&queue).copied().or(only).or(Some(UNKNOWN_QUEUE));
        }
        if let Some((last, number)) = self.last_queue {
            if last == queue {
                return Some(number);
            }
        }
        let number = match self.numbers.get(&queue) {
            Some(number) => *number,
            None if self.queues.len() >= MOST_QUEUES => return None,
            None => {
                let number = u32::try_from(self.queues.len()).ok()?;
                self.numbers.insert(queue, number);
                self.queues.push(QueueRow::new(queue));
                number
            }
        };
        self.last_queue = Some((queue, number));
        Some(number)
    }

    /// No more records come: what waits has its turn, and what is still queued is censored.
    pub(crate) fn close(&mut self) {
        let (window, mut to) = self.paired();
        while window.next(|timed| to.pair(timed)) {}
        self.pairing.close();
        let silences = self.pairing.intervals().silences_left_out();
        for _ in 0..silences {
            self.summary.refuse(QueueLogRefusal::TooManySilentIntervals);
        }
        if silences > 0 {
            let message = format!(
                "queue log: {silences} silences of queues have too many intervals for a log of so few events; they have no rows"
            );
            self.summary
                .fail(Fault::new(FaultKind::ExpandsTooFar, message, None));
        }
        let drops = self.summary.refused_for(QueueLogRefusal::DropOfUnknownQueue);
        if drops > 0 {
            let message = format!(
                "queue log: it does not say which of its queues dropped {drops} packets, which are not counted; record net:net_dev_queue from the start, on devices with one queue"
            );
            self.summary
                .fail(Fault::new(FaultKind::UnknownQueue, message, None));
        }
        let open = self.pairing.left_open();
        self.log.open = open;
        if let (Some((dequeues, enqueues, offset)), Some(log_counts)) = (self.log.stated_open, open) {
            if (dequeues, enqueues) != log_counts && self.log.lost_events == 0 {
                let message = format!(
                    "queue log: the probe says it held {dequeues} dequeues and {enqueues} enqueues open, but the log has {} and {}: records are missing that no loss report counts",
                    log_counts.0, log_counts.1
                );
                self.summary
                    .fail(Fault::new(FaultKind::CorruptRecord, message, Some(offset)));
            }
        }
    }

    /// Count a record as refused, and keep the fault if it is the first.
    pub(crate) fn refuse(&mut self, reason: QueueLogRefusal, fault: Fault) {
        self.summary.refuse(reason);
        self.summary.fail(fault);
    }
}

/// Where what has its turn goes.
struct Paired<'i> {
    pairing: &'i mut QueuePairing,
    queues: &'i mut Vec<QueueRow>,
    log: &'i mut QueueLogRow,
    summary: &'i mut Summary,
}

impl Paired<'_> {
    /// What has its turn goes to the pairing, and is counted.
    fn pair(&mut self, timed: &mut Timed) {
        let (queue, event) = match timed {
            Timed::Lost(events) => {
                self.pairing.intervals().lost(*events);
                return;
            }
            Timed::Event { queue, event } => (*queue, event),
        };
        let queue = match self.pairing.event(queue, event) {
            EventOf::Queue(queue) => queue,
            EventOf::NoQueue => return,
            EventOf::UnknownQueue => {
                self.summary.records_read = self.summary.records_read.saturating_sub(1);
                self.summary.refuse(QueueLogRefusal::DropOfUnknownQueue);
                return;
            }
        };
        if self.queues.is_empty() {
            self.queues.push(QueueRow::new(QueueId::default()));
        }
        self.log.count(event.kind, event.time_ns);
        if let Some(row) = self.queues.get_mut(queue as usize) {
            row.count(event.kind, event.time_ns, event.drop_counter);
        }
    }
}
