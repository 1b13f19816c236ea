//! Python module `sojourn_ingest._native`: the decoder core as iterators of Arrow batches.
//!
//! Decoding runs without the interpreter lock. Batches cross over the Arrow `PyCapsule` interface, which hands
//! over the C structures without a copy and needs no unsafe code on this side.

#![deny(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments are extracted from Python objects into values"
)]

mod addresses;
mod batch;
mod batches;
mod capture;
mod declarations;
mod errors;
mod fingerprint;
mod ndt;
mod pair;
mod queue_log;
mod recording;
mod ss_socket;
mod summary;
mod tcp_info;
mod texts;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::add_to(module)?;
    module.add_class::<fingerprint::Fingerprint>()?;
    module.add_class::<recording::CaptureSpan>()?;
    module.add_class::<summary::Summary>()?;
    module.add_class::<capture::CaptureDecoder>()?;
    module.add_class::<pair::PairDecoder>()?;
    module.add_class::<queue_log::QueueLogDecoder>()?;
    module.add_class::<addresses::PrefixTable>()?;
    module.add_class::<addresses::AddressResolver>()?;
    module.add_class::<tcp_info::TcpInfoDecoder>()?;
    module.add_class::<declarations::LinkType>()?;
    module.add_class::<declarations::QueueLogForm>()?;
    module.add_class::<declarations::RefusalReason>()?;
    module.add_class::<declarations::Decoded>()?;
    module.add_function(wrap_pyfunction!(fingerprint::fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(queue_log::queue_log_form, module)?)?;
    module.add_function(wrap_pyfunction!(recording::capture_span, module)?)?;
    module.add_function(wrap_pyfunction!(recording::holds_capture, module)?)?;
    module.add_function(wrap_pyfunction!(texts::rfc3339_ns, module)?)?;
    module.add_function(wrap_pyfunction!(ndt::ndt_connections, module)?)?;
    module.add_function(wrap_pyfunction!(ss_socket::ss_socket, module)?)?;
    module.add_function(wrap_pyfunction!(declarations::link_types, module)?)?;
    module.add_function(wrap_pyfunction!(declarations::queue_log_forms, module)?)?;
    module.add_function(wrap_pyfunction!(declarations::refusal_reasons, module)?)?;
    module.add_function(wrap_pyfunction!(declarations::decoded, module)?)?;
    module.add_function(wrap_pyfunction!(declarations::core_version, module)?)?;
    Ok(())
}
