//! A reader of queue logs of any form: one variant for each.

use crate::output::fault::Fault;
use crate::queue::event::QueueItem;
use crate::queue::flow::FlowCache;
use crate::queue::form::{QueueLogForm, unrecognised};
use crate::queue::format::bpftrace;
use crate::queue::format::perf::PerfReader;
use crate::queue::format::qmon::QmonReader;
use crate::queue::format::table::TableReader;
use crate::queue::format::table_declaration::{DeclaredClock, TableDeclaration};

/// Reader of the lines or records of one log.
pub(crate) enum Reader {
    Bpftrace(FlowCache),
    Perf(PerfReader),
    Qmon(Box<QmonReader>),
    Table(Box<TableReader>),
}

/// What is known of a log before its first record.
pub(crate) struct Opened {
    pub(crate) reader: Reader,
    /// Whether the log shows drops out of the queue.
    pub(crate) drops_logged: bool,
    /// Whether its times are UTC without an offset.
    pub(crate) utc: bool,
}

impl Reader {
    /// The reader of a form, for content that begins with `head`.
    pub(crate) fn open(form: &QueueLogForm, head: &[u8]) -> Result<Opened, Fault> {
        if let QueueLogForm::Table(declaration) = form {
            let declaration = TableDeclaration::from_json(declaration)?;
            return Ok(Opened {
                drops_logged: declaration.drops_logged,
                utc: declaration.clock == DeclaredClock::Utc,
                reader: Self::Table(Box::new(TableReader::new(declaration)?)),
            });
        }
        if QueueLogForm::of(head).as_ref() != Some(form) {
            return Err(unrecognised(form));
        }
        let (reader, drops_logged) = match form {
            QueueLogForm::Perf => (Self::Perf(PerfReader::default()), true),
            QueueLogForm::Qmon => (Self::Qmon(Box::default()), false),
            _ => (Self::Bpftrace(FlowCache::default()), true),
        };
        Ok(Opened {
            reader,
            drops_logged,
            utc: false,
        })
    }

    /// Whether events are of several processors, each in its own order.
    pub(crate) fn of_several_processors(&self) -> bool {
        matches!(self, Self::Qmon(_))
    }

    /// What one line says, and a second thing it may say; `None` if it is malformed.
    pub(crate) fn line(&mut self, line: &[u8]) -> Option<(QueueItem, Option<QueueItem>)> {
        match self {
            Self::Bpftrace(flows) => bpftrace::parse_line(line, flows).map(|item| (item, None)),
            Self::Perf(reader) => reader.parse_line(line),
            Self::Table(reader) => reader.parse_line(line).map(|item| (item, None)),
            Self::Qmon(_) => None,
        }
    }
}
