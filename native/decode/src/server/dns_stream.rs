//! Messages of DNS over TCP (RFC 7766), each behind its length of two bytes.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::server::assembly::Assembly;
use crate::server::dns::{Answer, answer};
use crate::server::reader::Fields;
use crate::twos_complement::TwosComplement;

/// Servers' streams that are put together at a time.
const STREAMS: usize = 64;
/// The longest message with its length, and a segment behind it.
const STREAM_BYTES: usize = (1 << 16) + (1 << 14);

/// The open streams, by the number of their flows.
#[derive(Debug, Default)]
pub(crate) struct DnsStreams {
    streams: HashMap<i64, (u32, Assembly)>,
    order: VecDeque<i64>,
}

impl DnsStreams {
    /// Put in a segment that a server sent, and hand out the answers that are whole with it. `first` is the
    /// number of the stream's first byte, where it is known.
    pub(crate) fn segment(
        &mut self,
        flow_id: i64,
        first: Option<u32>,
        sequence: u32,
        payload: &[u8],
    ) -> Vec<Answer> {
        if !self.streams.contains_key(&flow_id) {
            if self.order.len() >= STREAMS {
                if let Some(oldest) = self.order.pop_front() {
                    self.streams.remove(&oldest);
                }
            }
            self.order.push_back(flow_id);
        }
        let (start, assembly) = self.streams.entry(flow_id).or_insert_with(|| {
            // A stream that began earlier is read from here on, if a message begins here.
            let near = first.filter(|first| (sequence.wrapping_sub(*first) as usize) < STREAM_BYTES);
            (near.unwrap_or(sequence), Assembly::new(STREAM_BYTES))
        });
        let offset = sequence.wrapping_sub(*start).signed();
        let before = usize::try_from(-i64::from(offset.min(0))).unwrap_or(usize::MAX);
        let offset = usize::try_from(offset.max(0)).unwrap_or(usize::MAX);
        assembly.add(offset, payload.get(before..).unwrap_or_default());
        let mut answers = Vec::new();
        let mut fields = Fields(assembly.beginning());
        let mut read = 0usize;
        while let Some(message) = fields.after_u16() {
            answers.extend(answer(message));
            read += 2 + message.len();
        }
        assembly.advance(read);
        *start = start.wrapping_add(u32::try_from(read).unwrap_or_default());
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::dns::tests::response;

    #[test]
    fn messages_over_segments_in_any_order_are_answers_once() {
        let messages: Vec<u8> = ["one.example.com", "two.example.com", "three.example.com"]
            .iter()
            .flat_map(|name| {
                let message = response(name, 1, &[[192, 0, 2, 1].into()]);
                [&(message.len() as u16).to_be_bytes()[..], &message].concat()
            })
            .collect();
        let parts: Vec<(usize, &[u8])> = messages
            .chunks(17)
            .enumerate()
            .map(|(place, part)| (place * 17, part))
            .collect();
        for turned in [false, true] {
            let mut streams = DnsStreams::default();
            let mut names = Vec::new();
            let mut order = parts.clone();
            for pair in order.chunks_mut(2).filter(|_| turned) {
                pair.reverse();
            }
            let first = u32::MAX - 20;
            for (offset, part) in order.iter().flat_map(|part| [part, part]) {
                let sequence = first.wrapping_add(*offset as u32);
                let answers = streams.segment(7, Some(first), sequence, part);
                names.extend(
                    answers
                        .into_iter()
                        .map(|answer| String::from_utf8(answer.name).unwrap()),
                );
            }
            assert_eq!(names, ["one.example.com", "two.example.com", "three.example.com"]);
        }
    }

    #[test]
    fn streams_are_bounded_in_number() {
        let mut streams = DnsStreams::default();
        for flow_id in 0..1000 {
            streams.segment(flow_id, None, 5, &[9]);
        }
        assert_eq!((streams.streams.len(), streams.order.len()), (STREAMS, STREAMS));
    }
}
