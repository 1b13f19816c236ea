//! Whom a flow belongs to: the name of its server, out of TLS, QUIC and DNS, as long as it may be kept.

pub(crate) mod answers;
pub(crate) mod assembly;
pub(crate) mod client_hello;
pub(crate) mod dns;
pub(crate) mod dns_stream;
pub(crate) mod flow_server;
pub(crate) mod name;
pub(crate) mod quic;
pub(crate) mod quic_keys;
pub(crate) mod reader;
pub(crate) mod tls;
