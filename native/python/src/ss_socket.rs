//! Sockets of ss as rows of Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_decode::SsSocket;

/// One line as columns of `tcp_poll` with plain addresses; nothing if it is not a socket.
#[pyfunction]
pub(crate) fn ss_socket<'py>(py: Python<'py>, line: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(socket) = SsSocket::parse(line) else {
        return Ok(None);
    };
    let row = PyDict::new(py);
    macro_rules! set {
        ($($name:ident),*) => {
            $(row.set_item(pyo3::intern!(py, stringify!($name)), &socket.$name)?;)*
        };
    }
    set!(
        state,
        congestion_control,
        app_limited,
        srtt_us,
        rttvar_us,
        min_rtt_us,
        rto_us,
        mss_bytes,
        cwnd_packets,
        ssthresh_packets,
        sent_bytes,
        retransmitted_bytes,
        acked_bytes,
        received_bytes,
        unacked_packets,
        retransmitted_packets,
        lost_packets,
        pacing_rate_bps,
        delivery_rate_bps
    );
    row.set_item(pyo3::intern!(py, "unread_values"), socket.unread_values)?;
    row.set_item(pyo3::intern!(py, "local_address"), &socket.local.address)?;
    row.set_item(pyo3::intern!(py, "local_port"), socket.local.port)?;
    row.set_item(pyo3::intern!(py, "peer_address"), &socket.peer.address)?;
    row.set_item(pyo3::intern!(py, "peer_port"), socket.peer.port)?;
    Ok(Some(row))
}
