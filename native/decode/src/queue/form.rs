//! The forms of queue logs: the one list of them, and how each is known by its content.

use crate::output::fault::{Fault, FaultKind};
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

/// What is known of a form without a log of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownQueueLogForm {
    /// Name of the form.
    pub name: &'static str,
    /// What writes it, in one line.
    pub meaning: &'static str,
    /// Name of such a log in the folder of a run, without the suffix of a compression.
    pub run_file: &'static str,
    /// Whether its columns have to be declared: its content does not identify it.
    pub declared: bool,
    /// What it is recognised by.
    recognised_by: &'static str,
}

const BPFTRACE: KnownQueueLogForm = KnownQueueLogForm {
    name: "bpftrace",
    meaning: "text from the project's bpftrace probe, infra/queue-probe/queue.bt",
    run_file: "queue_bpftrace.txt",
    declared: false,
    recognised_by: "an event line (E, D or X and 18 fields)",
};
const QMON: KnownQueueLogForm = KnownQueueLogForm {
    name: "qmon",
    meaning: "binary stream of the BCC queue monitor (RWTH studies, PAM'21 and TMA'23)",
    run_file: "queue.qmon",
    declared: false,
    recognised_by: "whole records of known types and sizes",
};
const PERF: KnownQueueLogForm = KnownQueueLogForm {
    name: "perf",
    meaning: "text from perf script with the kernel's qdisc and skb tracepoints",
    run_file: "queue_perf.txt",
    declared: false,
    recognised_by: "an event qdisc:qdisc_enqueue or qdisc:qdisc_dequeue of perf script",
};
const TABLE: KnownQueueLogForm = KnownQueueLogForm {
    name: "table",
    meaning: "JSON Lines or CSV with columns and units declared in a description file",
    run_file: "queue.csv",
    declared: true,
    recognised_by: "a line as declared",
};

impl QueueLogForm {
    /// All forms. Of several logs in the folder of a run, that of the first form counts.
    pub const KNOWN: &'static [KnownQueueLogForm] = &[BPFTRACE, QMON, PERF, TABLE];

    /// What is known of the form.
    #[must_use]
    pub fn properties(&self) -> KnownQueueLogForm {
        match self {
            Self::Bpftrace => BPFTRACE,
            Self::Qmon => QMON,
            Self::Perf => PERF,
            Self::Table(_) => TABLE,
        }
    }

    /// The form of a name, with the declaration of its columns where it needs one; `None` for another name, and where
    /// a declaration is missing or not wanted.
    #[must_use]
    pub fn of_name(name: &str, declaration: Option<String>) -> Option<Self> {
        let forms = match declaration {
            None => vec![Self::Bpftrace, Self::Qmon, Self::Perf],
            Some(declaration) => vec![Self::Table(declaration)],
        };
        forms.into_iter().find(|form| form.properties().name == name)
    }

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
    Fault::new(
        FaultKind::UnrecognisedFormat,
        format!(
            "queue log: needed {} among the first {RECOGNITION_LINES} lines or records, found none",
            form.properties().recognised_by
        ),
        Some(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_form_is_one_by_its_name() {
        for entry in QueueLogForm::KNOWN {
            let declaration = entry.declared.then(String::new);
            let form = QueueLogForm::of_name(entry.name, declaration).unwrap();
            assert_eq!(form.properties(), *entry);
            assert_eq!(
                QueueLogForm::of_name(entry.name, (!entry.declared).then(String::new)),
                None
            );
        }
        assert_eq!(QueueLogForm::of_name("tcpdump", None), None);
    }
}
