//! Why a packet of a pair of captures is refused, beside the reasons of every packet.

use crate::output::refusal::refusals;

refusals! {
    /// Why a decoded packet is not matched.
    pub(crate) enum PairRefusal of "capture pair" {
        TooManyFlows = "too_many_flows": "a packet of a new flow, after the pair has reached the maximum number of flows",
        IndistinctPacket = "indistinct_packet": "a packet of a flow most of whose packets look alike: without an IP identification, and with too little payload captured or the same in each",
    }
}
