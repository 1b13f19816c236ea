//! The decoder of M-Lab tcp-info files.

use std::io::{self, Read};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_decode::TcpInfoOptions;

use crate::batch::one_to_pyarrow;
use crate::batches::Locked;
use crate::errors::{require_positive, to_exception};
use crate::summary::Summary;

/// A file object of Python as a reader: what lies in an archive never reaches the disk.
struct FileObject(Py<PyAny>);

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let read = self
                .0
                .call_method1(py, "read", (buffer.len(),))
                .map_err(io::Error::other)?;
            let bytes = read
                .cast_bound::<PyBytes>(py)
                .map_err(|_| io::Error::other("read gave no bytes"))?;
            let bytes = bytes.as_bytes();
            buffer
                .get_mut(..bytes.len())
                .ok_or_else(|| io::Error::other("read gave more bytes than asked for"))?
                .copy_from_slice(bytes);
            Ok(bytes.len())
        })
    }
}

/// Decoder of tcp-info files, one after another.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct TcpInfoDecoder(Locked<sojourn_decode::TcpInfoDecoder>);

#[pymethods]
impl TcpInfoDecoder {
    #[new]
    #[pyo3(signature = (*, open_connections = 262_144, polls = false))]
    fn new(open_connections: usize, polls: bool) -> PyResult<Self> {
        require_positive(
            "open_connections",
            i64::try_from(open_connections).unwrap_or(i64::MAX),
        )?;
        let options = TcpInfoOptions {
            open_connections,
            polls,
        };
        Ok(Self(Locked::new(sojourn_decode::TcpInfoDecoder::new(options))))
    }

    fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.0
            .with(py, |decoder| decoder.open(&path))
            .map_err(|fault| to_exception(&fault))
    }

    fn open_file(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<()> {
        self.0
            .with(py, |decoder| decoder.open_reader(Box::new(FileObject(file))))
            .map_err(|fault| to_exception(&fault))
    }

    #[pyo3(signature = (lines = 65_536))]
    fn read(&self, py: Python<'_>, lines: usize) -> bool {
        self.0.with(py, |decoder| decoder.read(lines))
    }

    #[pyo3(signature = (*, last = false))]
    fn take_batch<'py>(&self, py: Python<'py>, last: bool) -> PyResult<Bound<'py, PyAny>> {
        let batch = self
            .0
            .with(py, |decoder| decoder.take_batch(last))
            .map_err(|fault| to_exception(&fault))?;
        one_to_pyarrow(py, batch)
    }

    fn summary(&self, py: Python<'_>) -> Summary {
        Summary(self.0.with(py, |decoder| decoder.summary().clone()))
    }
}
