//! Addresses: kept or replaced by keyed hashes, and looked up in tables of prefixes.

pub(crate) mod address;
pub(crate) mod address_resolver;
pub(crate) mod keys;
pub(crate) mod prefix_table;
