//! Results of M-Lab's speed tests as rows of Python: there are few for each document, and many documents make a batch.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_decode::{NdtConnection, NdtResult, NdtVersion};

/// Directions of the test, why some have no row, and the rows; nothing where the content is not one JSON object.
type Answer<'py> = Option<(u64, Vec<Cow<'static, str>>, Vec<Bound<'py, PyDict>>)>;

/// Read one result of NDT5 or NDT7.
#[pyfunction]
pub(crate) fn ndt_connections<'py>(py: Python<'py>, content: &[u8], version: u8) -> PyResult<Answer<'py>> {
    let version = if version == 5 {
        NdtVersion::Five
    } else {
        NdtVersion::Seven
    };
    let Some(result) = py.detach(|| NdtResult::read(content, version)) else {
        return Ok(None);
    };
    let rows = result
        .connections
        .iter()
        .enumerate()
        .map(|(number, connection)| row(py, number, connection))
        .collect::<PyResult<_>>()?;
    Ok(Some((result.directions, result.refused, rows)))
}

fn row<'py>(py: Python<'py>, number: usize, connection: &NdtConnection) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    macro_rules! set {
        ($($name:ident),*) => {
            $(row.set_item(pyo3::intern!(py, stringify!($name)), &connection.$name)?;)*
        };
    }
    row.set_item(pyo3::intern!(py, "connection_number"), number)?;
    set!(
        start_ns,
        duration_ms,
        client_address,
        rtt_samples,
        rtt_min_us,
        rtt_avg_us,
        rtt_max_us,
        kernel_min_rtt_us,
        sent_bytes,
        acked_bytes,
        received_bytes,
        retransmitted_packets
    );
    let congestion_control = connection.bbr.then_some("bbr");
    row.set_item(pyo3::intern!(py, "congestion_control"), congestion_control)?;
    Ok(row)
}
