//! The declaration of a queue log that is a table: which column is what, in which unit.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::input::decimal::scaled;
use crate::output::fault::{Fault, FaultKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TableForm {
    JsonLines,
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeclaredClock {
    Monotonic,
    Utc,
}

/// Words for each kind of event.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventNames {
    pub(crate) column: String,
    #[serde(default)]
    pub(crate) enqueue: Vec<String>,
    #[serde(default)]
    pub(crate) dequeue: Vec<String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
    #[serde(default)]
    pub(crate) lost: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredColumn {
    pub(crate) column: String,
    #[serde(default)]
    pub(crate) unit: Option<String>,
}

/// Which column of a table is what, in which unit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableDeclaration {
    pub(crate) form: TableForm,
    #[serde(default)]
    pub(crate) delimiter: Option<String>,
    pub(crate) clock: DeclaredClock,
    pub(crate) drops_logged: bool,
    pub(crate) event: EventNames,
    /// Columns that together identify a packet in the queue.
    pub(crate) packet: Vec<String>,
    pub(crate) fields: BTreeMap<String, DeclaredColumn>,
}

impl TableDeclaration {
    /// Read a declaration that was checked before.
    pub(crate) fn from_json(text: &str) -> Result<Self, Fault> {
        serde_json::from_str(text).map_err(|error| {
            Fault::new(
                FaultKind::UnrecognisedFormat,
                format!("queue log declaration: {error}"),
                None,
            )
        })
    }
}

/// The fields that a declaration may name, in the order of their values.
pub(crate) const FIELDS: [&str; 22] = [
    "time",
    "sojourn",
    "packet_bytes",
    "queue_packets",
    "queue_bytes",
    "network_namespace",
    "interface_index",
    "interface_name",
    "handle",
    "ethertype",
    "protocol",
    "source_address",
    "source_port",
    "destination_address",
    "destination_port",
    "ip_id",
    "transport_word",
    "drop_kind",
    "drop_reason",
    "drop_location",
    "flow_label",
    "lost_events",
];
pub(crate) const ECN_CE: &str = "ecn_ce";

/// What a declared number is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Decimal places until the lake's unit.
    Places(usize),
    Factor(i64),
}

/// The unit of a field by its declared name.
pub(crate) fn unit(field: &str, name: Option<&str>) -> Result<Unit, Fault> {
    let time = matches!(field, "time" | "sojourn");
    let declared_unit = match name {
        Some("s") if time => Some(Unit::Places(9)),
        Some("ms") if time => Some(Unit::Places(6)),
        Some("us") if time => Some(Unit::Places(3)),
        Some("ns") if time => Some(Unit::Places(0)),
        Some("bytes") if field.ends_with("_bytes") => Some(Unit::Factor(1)),
        Some("kB") if field.ends_with("_bytes") => Some(Unit::Factor(1000)),
        Some("KiB") if field.ends_with("_bytes") => Some(Unit::Factor(1024)),
        None if !time => Some(Unit::Factor(1)),
        _ => None,
    };
    declared_unit.ok_or_else(|| {
        let message = format!(
            "queue log declaration: {field} has no unit {}; times need s, ms, us or ns, lengths may have bytes, kB or KiB",
            name.unwrap_or("(none)")
        );
        Fault::new(FaultKind::UnrecognisedFormat, message, None)
    })
}

/// A number in the lake's unit.
pub(crate) fn number_in(text: &str, unit: Unit) -> Option<i64> {
    match (unit, text.strip_prefix("0x")) {
        (Unit::Places(places), _) => scaled(text, places),
        (Unit::Factor(factor), Some(digits)) => i64::from_str_radix(digits, 16).ok()?.checked_mul(factor),
        (Unit::Factor(1), None) => scaled(text, 0),
        (Unit::Factor(factor), None) => scaled(text, 6)?
            .checked_mul(factor)
            .map(|scaled| scaled / 1_000_000),
    }
}
