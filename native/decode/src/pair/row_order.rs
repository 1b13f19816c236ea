//! Rows in the order of the first capture.

use std::collections::VecDeque;

use crate::pair::clock::LowerEdge;
use crate::pair::sighting::PairedPacket;

/// A place in the order of the first capture.
#[derive(Debug)]
enum Place {
    /// The packet's fate is not known yet.
    Open,
    /// The packet is no row: it goes the other way.
    Empty,
    Row(PairedPacket),
}

/// Rows in the order of the first capture, out of packets in the order in which their fates are known.
pub(crate) struct RowOrder {
    towards: Vec<bool>,
    places: VecDeque<Place>,
    passed: i64,
    rows: i64,
    /// Number of the next row that the first capture does not have; they are numbered after all others.
    next_unseen: i64,
    pub(crate) ready: VecDeque<PairedPacket>,
    pub(crate) edges: (Option<LowerEdge>, Option<LowerEdge>),
}

impl RowOrder {
    /// No rows yet. `towards` tells of each flow whether it goes towards the bottleneck, `next_unseen` is the number of
    /// rows that the first capture has.
    pub(crate) fn new(
        towards: Vec<bool>,
        next_unseen: i64,
        edges: (Option<LowerEdge>, Option<LowerEdge>),
    ) -> Self {
        Self {
            towards,
            places: VecDeque::new(),
            passed: 0,
            rows: 0,
            next_unseen,
            ready: VecDeque::new(),
            edges,
        }
    }

    /// Take a packet whose fate is known.
    pub(crate) fn take(&mut self, packet: PairedPacket) {
        let towards = self.towards.get(packet.flow as usize).copied().unwrap_or(false);
        if let (Some(before_ns), Some(after_ns)) = (packet.before_ns, packet.after_ns) {
            let (edge, difference_ns) = if towards {
                (&mut self.edges.0, after_ns - before_ns)
            } else {
                (&mut self.edges.1, before_ns - after_ns)
            };
            if let Some(edge) = edge {
                edge.add(before_ns, difference_ns);
            }
        }
        if packet.before_ns.is_none() {
            if towards {
                let index = self.next_unseen;
                self.next_unseen += 1;
                self.ready.push_back(PairedPacket { index, ..packet });
            }
            return;
        }
        let Ok(place) = usize::try_from(packet.index - self.passed) else {
            return;
        };
        while self.places.len() <= place {
            self.places.push_back(Place::Open);
        }
        if let Some(place) = self.places.get_mut(place) {
            *place = if towards { Place::Row(packet) } else { Place::Empty };
        }
        while let Some(Place::Row(_) | Place::Empty) = self.places.front() {
            if let Some(Place::Row(packet)) = self.places.pop_front() {
                self.ready.push_back(PairedPacket {
                    index: self.rows,
                    ..packet
                });
                self.rows += 1;
            }
            self.passed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::sighting::test_packet as packet;

    #[test]
    fn rows_come_in_the_order_of_the_first_capture_and_the_unseen_are_numbered_last() {
        let mut order = RowOrder::new(vec![true, false], 3, (None, None));
        let back = PairedPacket {
            flow: 1,
            ..packet(1, Some(1), Some(0), 1)
        };
        order.take(packet(2, Some(2), Some(9), 1));
        order.take(packet(0, None, Some(5), 1));
        assert_eq!(order.ready.len(), 1);
        order.take(back);
        order.take(packet(3, Some(3), None, 1));
        order.take(packet(0, Some(0), Some(7), 1));
        let rows: Vec<_> = order.ready.iter().map(|row| (row.index, row.before_ns)).collect();
        assert_eq!(rows, [(3, None), (0, Some(0)), (1, Some(2)), (2, Some(3))]);
        assert!(order.places.is_empty());
    }
}
