//! Rows in the order of their first events, of which each waits until its packet has ended.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::queue::event::QueueEvent;
use crate::queue::queued_packet::QueuedPacket;

/// Rows that are begun or wait for their turn to be handed out.
#[derive(Debug, Default)]
pub(crate) struct PacketRows {
    next_index: i64,
    /// Index of the first of `rows`.
    base: i64,
    rows: VecDeque<QueuedPacket>,
    /// Packets still open whose turn is over.
    stragglers: HashMap<i64, QueuedPacket>,
    /// Those of them that have ended, and what was set aside with them.
    late: VecDeque<QueuedPacket>,
}

impl PacketRows {
    /// The index of the packet that begins next.
    pub(crate) fn next_index(&self) -> i64 {
        self.next_index
    }

    /// Begin a row with the first event of a packet; its index.
    pub(crate) fn begin(&mut self, queue: u32, event: &mut QueueEvent) -> i64 {
        let index = self.next_index;
        self.next_index += 1;
        self.rows.push_back(QueuedPacket::new(index, queue, event));
        index
    }

    /// The row of a packet that was not handed out.
    pub(crate) fn get(&mut self, index: i64) -> Option<&mut QueuedPacket> {
        match usize::try_from(index - self.base) {
            Ok(place) => self.rows.get_mut(place),
            Err(_) => self.stragglers.get_mut(&index),
        }
    }

    /// The packet of a row has ended.
    pub(crate) fn ended(&mut self, index: i64) {
        if index < self.base {
            self.late.extend(self.stragglers.remove(&index));
        }
    }

    /// Hand out up to `most` packets that have ended, in the order of their first events but for those set aside.
    pub(crate) fn hand_out(&mut self, most: usize, mut to: impl FnMut(&QueuedPacket)) {
        for _ in 0..most {
            if let Some(packet) = self.late.pop_front() {
                to(&packet);
                continue;
            }
            let Some(packet) = self.rows.front().filter(|packet| !packet.open) else {
                return;
            };
            to(packet);
            self.rows.pop_front();
            self.base += 1;
        }
    }

    /// Packets wait for those before them to end, but not for one whose end was lost: once more than `most` are
    /// there, the first `packets` of them wait no longer.
    pub(crate) fn set_aside(&mut self, packets: usize, most: usize) {
        if self.rows.len() < most {
            return;
        }
        for _ in 0..packets {
            let Some(packet) = self.rows.pop_front() else {
                return;
            };
            self.base += 1;
            if packet.open {
                self.stragglers.insert(packet.index, packet);
            } else {
                self.late.push_back(packet);
            }
        }
    }
}
