//! One packet: link layer, tunnels, IP and its fragments, transport.

pub(crate) mod fragments;
pub(crate) mod layers;
pub(crate) mod link;
pub(crate) mod tcp_options;
pub(crate) mod tunnel;
