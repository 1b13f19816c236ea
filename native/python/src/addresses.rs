//! Columns of addresses to pseudonyms, autonomous systems and countries.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_decode::{AddressPolicy, Pseudonyms};

use crate::batch::one_to_pyarrow;
use crate::errors::to_exception;
use crate::texts::Texts;

/// Prefixes with their autonomous system and country.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct PrefixTable(Arc<sojourn_decode::PrefixTable>);

#[pymethods]
impl PrefixTable {
    #[new]
    fn new(
        py: Python<'_>,
        prefixes: Vec<String>,
        asns: Vec<Option<i64>>,
        countries: Vec<Option<String>>,
    ) -> PyResult<Self> {
        if asns.len() != prefixes.len() || countries.len() != prefixes.len() {
            return Err(PyValueError::new_err("the three columns differ in length"));
        }
        py.detach(|| sojourn_decode::PrefixTable::new(prefixes.iter().map(String::as_str), &asns, &countries))
            .map(|table| Self(Arc::new(table)))
            .map_err(|place| {
                let text = prefixes.get(place).map_or("", String::as_str);
                PyValueError::new_err(format!("row {}: {text:?} is not a prefix", place + 1))
            })
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn get(&self, address: &str) -> Option<(Option<i64>, Option<String>)> {
        self.0
            .get_text(address)
            .map(|entry| (entry.asn, entry.country.clone()))
    }
}

/// Resolves columns of addresses under one key and the given tables.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct AddressResolver(sojourn_decode::AddressResolver);

#[pymethods]
impl AddressResolver {
    #[new]
    #[pyo3(signature = (key, *, keep, forget_key, forgotten, tables))]
    fn new(
        key: &[u8],
        keep: bool,
        forget_key: &[u8],
        forgotten: HashSet<String>,
        tables: Vec<Py<PrefixTable>>,
    ) -> Self {
        let policy = if keep {
            AddressPolicy::Keep
        } else {
            AddressPolicy::Pseudonymise
        };
        let tables = tables.iter().map(|table| Arc::clone(&table.get().0)).collect();
        Self(sojourn_decode::AddressResolver::new(
            Pseudonyms::new(key, policy, forget_key, forgotten),
            tables,
        ))
    }

    /// Resolve a column in two buffers, as Arrow keeps text: offsets and bytes.
    #[pyo3(signature = (offsets, data, *, names = false))]
    fn resolve<'py>(
        &self,
        py: Python<'py>,
        offsets: PyBuffer<u8>,
        data: PyBuffer<u8>,
        names: bool,
    ) -> PyResult<(Bound<'py, PyAny>, u64)> {
        let texts = Texts::new(py, &offsets, &data)?;
        let resolved = py
            .detach(|| self.0.resolve(texts.iter(), names))
            .map_err(|fault| to_exception(&fault))?;
        Ok((one_to_pyarrow(py, resolved.batch)?, resolved.malformed))
    }

    fn key_of_name(&self, name: &str) -> String {
        self.0.pseudonyms().key_of_name(name)
    }

    fn forget_fingerprint(&self, host: &str) -> String {
        self.0.pseudonyms().forget_fingerprint(host)
    }

    fn is_forgotten_name(&self, name: &str) -> bool {
        self.0.pseudonyms().is_forgotten_name(name)
    }
}
