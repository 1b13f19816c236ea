//! One packet: link layer, tunnels, IP and its fragments, transport.

pub(crate) mod accurate_ecn;
pub(crate) mod captured;
pub(crate) mod direction;
pub(crate) mod fragments;
pub(crate) mod ip;
pub(crate) mod layers;
pub(crate) mod link;
pub(crate) mod link_type;
pub(crate) mod protocol;
pub(crate) mod refusal;
pub(crate) mod tcp_options;
pub(crate) mod transport;
pub(crate) mod tunnel;
pub(crate) mod types;
pub(crate) mod wireless;
pub(crate) mod wrapped;
