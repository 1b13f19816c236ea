//! The forms of queue logs, and how each is known.

use crate::input::fault::{Fault, FaultKind};
use crate::queue::format::bpftrace;
use crate::queue::format::perf;
use crate::queue::format::qmon;

/// A log shows an event among so many lines that are not empty.
pub(crate) const RECOGNITION_LINES: usize = 50;
pub(crate) const RECOGNITION_BYTES: usize = 64 * 1024;

/// The forms a queue log comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueLogForm {
    /// Text of the bpftrace probe.
    Bpftrace,
    /// The binary stream of the BCC queue monitor.
    Qmon,
    /// Text of `perf script`.
    Perf,
    /// JSON Lines or CSV, with the declaration of its columns as JSON.
    Table(String),
}

impl QueueLogForm {
    /// The form of a content by its first bytes, of those that need no declaration.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        let mut lines = head
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty())
            .take(RECOGNITION_LINES);
        lines
            .find_map(|line| {
                if bpftrace::is_event(line) {
                    return Some(Self::Bpftrace);
                }
                perf::is_queue_event(line).then_some(Self::Perf)
            })
            .or_else(|| qmon::recognised(head).then_some(Self::Qmon))
    }
}

/// Why content is not of a form.
pub(crate) fn unrecognised(form: &QueueLogForm) -> Fault {
    let needed = match form {
        QueueLogForm::Perf => "an event qdisc:qdisc_enqueue or qdisc:qdisc_dequeue of perf script",
        QueueLogForm::Qmon => "whole records of known types and sizes",
        _ => "an event line (E, D or X and 18 fields)",
    };
    Fault::new(
        FaultKind::UnrecognisedFormat,
        format!(
            "queue log: needed {needed} among the first {RECOGNITION_LINES} lines or records, found none"
        ),
        Some(0),
    )
}
