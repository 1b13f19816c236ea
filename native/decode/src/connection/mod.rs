//! Connections in the wild: M-Lab's tcp-info and NDT, and the sockets of ss.

pub(crate) mod batch;
pub(crate) mod ndt;
pub(crate) mod ss_socket;
pub(crate) mod tcp_info;
pub(crate) mod tcp_info_decoder;
pub(crate) mod tcp_info_record;
