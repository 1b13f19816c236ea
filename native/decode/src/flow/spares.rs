//! Memory of flows that were handed out, for flows to come: with many short flows, to ask the allocator for it and to give
//! it back there costs as much as a third of their decoding.

use crate::flow::interval::IntervalSeries;
use crate::flow::record::Flow;
use crate::flow::tcp::connection::TcpConnection;
use crate::packet::direction::PerDirection;
use crate::packet::protocol::PROTOCOL_TCP;
use crate::packet::types::Packet;

/// Kept of each kind: as many as are handed out at a time.
const SPARES: usize = 1 << 14;

/// Flows and connections of which only the memory is of use.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    #[expect(clippy::vec_box, reason = "what is kept is the memory in the box")]
    flows: Vec<Box<Flow>>,
    #[expect(clippy::vec_box, reason = "what is kept is the memory in the box")]
    connections: Vec<Box<TcpConnection>>,
}

impl Spares {
    /// Begin a flow with its first packet.
    pub(crate) fn begin(&mut self, id: i64, first: &Packet<'_>, time_ns: i64) -> Box<Flow> {
        let mut flow = Flow::new(id, first, time_ns);
        if first.protocol == PROTOCOL_TCP {
            let mut connection = self.connections.pop().unwrap_or_default();
            connection.renew();
            flow.tcp = Some(connection);
        }
        let Some(mut spare) = self.flows.pop() else {
            return Box::new(flow);
        };
        let PerDirection { fwd, rev } = &mut spare.traffic;
        flow.traffic.fwd.intervals = IntervalSeries::in_memory_of(&mut fwd.intervals);
        flow.traffic.rev.intervals = IntervalSeries::in_memory_of(&mut rev.intervals);
        *spare = flow;
        spare
    }

    /// Take back a flow that was handed out.
    pub(crate) fn give_back(&mut self, mut flow: Box<Flow>) {
        if let Some(mut connection) = flow.tcp.take().filter(|_| self.connections.len() < SPARES) {
            connection.ecn = None;
            self.connections.push(connection);
        }
        if self.flows.len() < SPARES {
            flow.spin = None;
            flow.codepoints = None;
            self.flows.push(flow);
        }
    }
}
