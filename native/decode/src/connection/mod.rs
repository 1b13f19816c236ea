//! Connections in the wild: M-Lab's tcp-info and NDT, and the sockets of ss.

pub(crate) mod ndt;
pub(crate) mod refusal;
pub(crate) mod ss_socket;
pub(crate) mod tcp_info;
