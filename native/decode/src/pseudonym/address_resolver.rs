//! Columns of addresses to keys, autonomous systems and countries, in one pass.

use std::sync::Arc;

use arrow_array::builder::{Int8Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::output::fault::{Fault, FaultKind};
use crate::pseudonym::address;
use crate::pseudonym::keys::Pseudonyms;
use crate::pseudonym::prefix_table::PrefixTable;

/// The host and prefix key of a host that is to be forgotten: rows with it are not written.
pub(crate) const FORGOTTEN: &str = "forgotten";

/// The result of a column of addresses.
pub struct Resolved {
    /// `host_key`, `prefix_key`, `ip_version`, `asn` and `country`, one row for each address; null for an
    /// empty one and for one that is not an address.
    pub batch: RecordBatch,
    /// Texts that are not an address.
    pub malformed: u64,
}

fn is_host_key(text: &str) -> bool {
    text.strip_prefix("hk-").is_some_and(|digest| {
        digest.len() == 32
            && digest
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Resolves addresses under one key and the given tables; where several know an address, the first decides.
pub struct AddressResolver {
    pseudonyms: Pseudonyms,
    tables: Vec<Arc<PrefixTable>>,
}

impl AddressResolver {
    /// A resolver.
    #[must_use]
    pub fn new(pseudonyms: Pseudonyms, tables: Vec<Arc<PrefixTable>>) -> Self {
        Self { pseudonyms, tables }
    }

    /// The pseudonyms under which it resolves.
    #[must_use]
    pub fn pseudonyms(&self) -> &Pseudonyms {
        &self.pseudonyms
    }

    fn named(&self, text: &str) -> String {
        if self.pseudonyms.is_forgotten_name(text) {
            FORGOTTEN.to_owned()
        } else if is_host_key(text) {
            text.to_owned()
        } else {
            self.pseudonyms.key_of_name(text)
        }
    }

    /// Resolve a column. With `names`, a text that is not an address names a host in another way: a host key is
    /// kept, and anything else becomes one, because it may disclose something.
    ///
    /// # Errors
    ///
    /// Only where Arrow refuses the batch.
    pub fn resolve<'a>(
        &self,
        addresses: impl ExactSizeIterator<Item = &'a str>,
        names: bool,
    ) -> Result<Resolved, Fault> {
        let rows = addresses.len();
        let mut hosts = StringBuilder::with_capacity(rows, rows * 35);
        let mut prefixes = StringBuilder::with_capacity(rows, rows * 35);
        let mut versions = Int8Builder::with_capacity(rows);
        let mut asns = Int64Builder::with_capacity(rows);
        let mut countries = StringBuilder::with_capacity(rows, rows * 2);
        let (mut message, mut host, mut prefix) = (String::new(), String::new(), String::new());
        let mut malformed = 0;
        for text in addresses {
            let Some(ip_address) = address::parse(text) else {
                if names && !text.is_empty() {
                    hosts.append_value(self.named(text));
                } else {
                    malformed += u64::from(!text.is_empty());
                    hosts.append_null();
                }
                prefixes.append_null();
                versions.append_null();
                asns.append_null();
                countries.append_null();
                continue;
            };
            host.clear();
            prefix.clear();
            if self.pseudonyms.is_forgotten(ip_address) {
                host.push_str(FORGOTTEN);
                prefix.push_str(FORGOTTEN);
            } else {
                self.pseudonyms
                    .keys(ip_address, &mut message, &mut host, &mut prefix);
            }
            hosts.append_value(&host);
            prefixes.append_value(&prefix);
            versions.append_value(if ip_address.is_ipv4() { 4 } else { 6 });
            let entries = || self.tables.iter().filter_map(|table| table.get(ip_address));
            asns.append_option(entries().find_map(|entry| entry.asn));
            countries.append_option(entries().find_map(|entry| entry.country.as_deref()));
        }
        let columns: [(&str, DataType, ArrayRef); 5] = [
            ("host_key", DataType::Utf8, Arc::new(hosts.finish())),
            ("prefix_key", DataType::Utf8, Arc::new(prefixes.finish())),
            ("ip_version", DataType::Int8, Arc::new(versions.finish())),
            ("asn", DataType::Int64, Arc::new(asns.finish())),
            ("country", DataType::Utf8, Arc::new(countries.finish())),
        ];
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, data_type, _)| Field::new(*name, data_type.clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| Fault::new(FaultKind::Batch, format!("arrow batch: {error}"), None))?;
        Ok(Resolved { batch, malformed })
    }
}
