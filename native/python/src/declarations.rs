//! What the core decodes, and why it refuses, as lists.

use pyo3::prelude::*;

/// A link type that has a decoder, under one of its numbers.
#[pyclass(frozen, get_all, module = "sojourn_ingest._native")]
pub(crate) struct LinkType {
    number: u32,
    name: &'static str,
    meaning: &'static str,
}

/// A form of queue log.
#[pyclass(frozen, get_all, module = "sojourn_ingest._native")]
pub(crate) struct QueueLogForm {
    name: &'static str,
    meaning: &'static str,
    run_file: &'static str,
    declared: bool,
}

/// A reason for refusing a record.
#[pyclass(frozen, get_all, module = "sojourn_ingest._native")]
pub(crate) struct RefusalReason {
    subject: &'static str,
    name: &'static str,
    meaning: &'static str,
}

/// A format, protocol or compression that is decoded.
#[pyclass(frozen, get_all, module = "sojourn_ingest._native")]
pub(crate) struct Decoded {
    kind: &'static str,
    name: &'static str,
    meaning: &'static str,
}

/// Link types of captures that have a decoder.
#[pyfunction]
pub(crate) fn link_types() -> Vec<LinkType> {
    sojourn_decode::link_types()
        .iter()
        .map(|entry| LinkType {
            number: entry.number,
            name: entry.name,
            meaning: entry.meaning,
        })
        .collect()
}

/// Forms of queue logs.
#[pyfunction]
pub(crate) fn queue_log_forms() -> Vec<QueueLogForm> {
    sojourn_decode::QueueLogForm::KNOWN
        .iter()
        .map(|entry| QueueLogForm {
            name: entry.name,
            meaning: entry.meaning,
            run_file: entry.run_file,
            declared: entry.declared,
        })
        .collect()
}

/// Reasons for refusing a record.
#[pyfunction]
pub(crate) fn refusal_reasons() -> Vec<RefusalReason> {
    sojourn_decode::refusal_reasons()
        .into_iter()
        .map(|reason| RefusalReason {
            subject: reason.subject,
            name: reason.name,
            meaning: reason.meaning,
        })
        .collect()
}

/// Capture formats, compressions and protocols.
#[pyfunction]
pub(crate) fn decoded() -> Vec<Decoded> {
    sojourn_decode::decoded()
        .into_iter()
        .map(|thing| Decoded {
            kind: thing.kind,
            name: thing.name,
            meaning: thing.meaning,
        })
        .collect()
}

/// Version of the decoder core, which changes whenever decoded facts may change.
#[pyfunction]
pub(crate) fn core_version() -> &'static str {
    sojourn_decode::VERSION
}
