//! The link types of a recording's packets as a batch.

use arrow_array::RecordBatch;

use crate::output::columns::Columns;
use crate::output::fault::Fault;
use crate::packet::link_type::LinkType;

/// Rows of numbers of link types and how many packets had them.
pub(crate) fn links(rows: &[(&u32, &u64)]) -> Result<RecordBatch, Fault> {
    let mut columns = Columns::over(rows);
    columns.int32("link_type", |row| i32::try_from(*row.0).unwrap_or(i32::MAX));
    columns.optional_string("link_type_name", |row| LinkType::name_of(*row.0));
    columns.int64("records", |row| i64::try_from(*row.1).unwrap_or(i64::MAX));
    columns.into_batch()
}
