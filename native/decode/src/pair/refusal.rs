//! Why a packet of a pair of captures is refused, beside the reasons of every packet.

use crate::output::refusal::refusals;

refusals! {
    /// Why a decoded packet is not matched.
    pub(crate) enum PairRefusal of "capture pair" {
        TooManyFlows = "too_many_flows": "a packet of a new flow, after the pair has reached the maximum number of flows",
        ImpossibleDelay = "impossible_delay": "a packet of a flow in which one takes more than an hour longer than another from point to point: it is another packet, or a clock was set while it was recorded",
        IndistinctPacket = "indistinct_packet": "a packet of a flow in which most packets look alike and some are missing at a point: they have no IP identification, and few or the same bytes of payload",
        OtherSegments = "other_segments": "a packet of a TCP flow whose segments differ between the points: they were merged, split or rewritten on the way, so it is unknown which were lost",
    }
}
