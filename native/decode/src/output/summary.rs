//! What a decoder saw of its input.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::output::fault::Fault;
use crate::output::refusal::Refusal;

/// Counts of records, and the first fault. Every whole record of the input is read or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Records that became facts.
    pub records_read: u64,
    /// Records that were seen but not decoded, by reason.
    pub refused: BTreeMap<Cow<'static, str>, u64>,
    /// The first fault; `None` when the input was whole.
    pub fault: Option<Fault>,
}

impl Summary {
    /// Count a record as refused.
    pub(crate) fn refuse(&mut self, reason: impl Refusal) {
        self.refuse_all(reason, 1);
    }

    /// Count records as refused.
    pub(crate) fn refuse_all(&mut self, reason: impl Refusal, records: u64) {
        *self.refused.entry(reason.name()).or_default() += records;
    }

    /// Records that were refused for a reason.
    pub(crate) fn refused_for(&self, reason: impl Refusal) -> u64 {
        self.refused.get(&reason.name()).copied().unwrap_or_default()
    }

    /// Count a record as refused no more.
    pub(crate) fn give_back(&mut self, reason: impl Refusal) {
        let name = reason.name();
        if let Some(count) = self.refused.get_mut(&name) {
            *count -= 1;
            if *count == 0 {
                self.refused.remove(&name);
            }
        }
    }

    /// The sums over several inputs, and the fault of the first that has one.
    pub(crate) fn of_all(summaries: &[Self]) -> Self {
        let mut total = Self::default();
        for summary in summaries {
            total.records_read += summary.records_read;
            for (reason, count) in &summary.refused {
                *total.refused.entry(reason.clone()).or_default() += count;
            }
            if let Some(fault) = &summary.fault {
                total.fail(fault.clone());
            }
        }
        total
    }

    pub(crate) fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}
