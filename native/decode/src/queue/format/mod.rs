//! The forms of queue logs: what one line or record says.

pub(crate) mod bpftrace;
pub(crate) mod perf;
pub(crate) mod qmon;
pub(crate) mod table;
pub(crate) mod table_declaration;
pub(crate) mod table_object;
