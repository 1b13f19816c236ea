//! Calls: what sets them up and carries their media beside plain RTP.
//!
//! STUN, TURN, DTLS, RTCP and Zoom's encapsulation are recognised by the shape of a payload, not by a port.
//! Decision record 009 says what is taken as which, and on what evidence.

pub(crate) mod batch;
pub(crate) mod carried;
pub(crate) mod dtls;
pub(crate) mod framing;
pub(crate) mod message;
pub(crate) mod report;
pub(crate) mod rtcp;
pub(crate) mod signalling;
pub(crate) mod state;
pub(crate) mod stun;
pub(crate) mod zoom;
