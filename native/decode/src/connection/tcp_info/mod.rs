//! M-Lab's tcp-info: polls of `sock_diag`, reduced to one row for each connection.

pub(crate) mod batch;
pub(crate) mod decoder;
pub(crate) mod record;
pub(crate) mod structure;
