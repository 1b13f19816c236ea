//! STUN and `ChannelData` in TCP (RFC 8489, section 6.2.2; RFC 8656, section 12.5): where one message ends, the next begins.

use crate::call::message::Message;
use crate::call::stun::{self, CHANNEL_HEADER_BYTES, STUN_HEADER_BYTES};
use crate::server::assembly::Assembly;
use crate::twos_complement::TwosComplement;

/// What may wait for a segment, in one direction of one connection: the start of a message that goes on there, or
/// segments that overtook it.
const HELD_BYTES: usize = 1 << 14;

/// Where the messages of one direction of a connection begin, and what of them is not whole.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    /// Where the next message begins, which may have been seen in part.
    next_sequence: Option<u32>,
    /// The stream from there on, while a segment is missing or a message not whole.
    held: Option<Box<Assembly>>,
    /// The channel seen last: where bytes are missing, a segment that begins with its number begins a message.
    channel: Option<[u8; 2]>,
    /// What is missing before a message that was read, and where that began.
    gap: Option<Box<(Self, u32)>>,
    /// Whether this is such a gap, in which there is none of its own: else they would lie in one another without end.
    is_gap: bool,
    has_begun: bool,
}

/// Up to where a part of the stream was read, which may be beyond its end; `None` where no message is.
type Read = Option<usize>;

impl Framing {
    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        let held = self.held.as_ref().map_or(0, |held| held.kept_bytes());
        held + self
            .gap
            .as_ref()
            .map_or(0, |gap| size_of_val(&**gap) + gap.0.kept_bytes())
    }

    /// Pass on the messages that are whole with a segment, and those of which the capture has no more than the start.
    ///
    /// The first one must be STUN with its magic cookie.
    pub(crate) fn segment(
        &mut self,
        sequence: u32,
        captured: &[u8],
        payload_bytes: u32,
        take: &mut dyn FnMut(Message<'_>),
    ) {
        let ahead = self
            .next_sequence
            .map_or(0, |next| sequence.wrapping_sub(next).signed());
        let passed = ahead.min(0).unsigned_abs();
        if passed > 0 {
            self.fill_gap(sequence, captured, payload_bytes, take);
        }
        if passed >= payload_bytes {
            return;
        }
        let start = sequence.wrapping_add(passed);
        let fresh = captured.get(passed as usize..).unwrap_or_default();
        let fresh_bytes = (payload_bytes - passed) as usize;
        let is_whole = fresh.len() == fresh_bytes;
        let ahead = usize::try_from(ahead).unwrap_or_default();
        let follows = self
            .held
            .as_ref()
            .is_some_and(|held| ahead <= held.beginning().len());
        if ahead > 0 && !follows && !self.is_gap && self.begins_message(fresh, is_whole) {
            let before = Self {
                next_sequence: self.next_sequence.take(),
                held: self.held.take(),
                has_begun: true,
                is_gap: true,
                ..Self::default()
            };
            self.gap = Some(Box::new((before, start)));
        } else if ahead > 0 || self.held.is_some() {
            if is_whole && (follows || ahead + fresh_bytes <= HELD_BYTES) {
                self.hold(ahead, fresh);
                self.read_held(take);
                return;
            }
            self.give_up(take);
        }
        let read = self.messages(fresh, fresh_bytes, self.next_sequence.is_some(), take);
        self.next_sequence = read.map(|read| moved(start, read));
        if let Some(rest) = read.and_then(|read| fresh.get(read..)) {
            if !rest.is_empty() {
                self.hold(0, rest);
            }
        }
    }

    /// Read what a late segment has of the gap.
    fn fill_gap(
        &mut self,
        sequence: u32,
        captured: &[u8],
        payload_bytes: u32,
        take: &mut dyn FnMut(Message<'_>),
    ) {
        let Some(mut gap) = self.gap.take() else {
            return;
        };
        let (framing, end) = &mut *gap;
        let bytes = end.wrapping_sub(sequence).signed().max(0).unsigned_abs();
        let bytes = bytes.min(payload_bytes);
        let there = captured.len().min(bytes as usize);
        framing.channel = self.channel;
        framing.segment(sequence, captured.get(..there).unwrap_or_default(), bytes, take);
        if framing.next_sequence.is_some_and(|next| next != *end) {
            self.gap = Some(gap);
        }
    }

    /// Whether a segment behind a gap begins with a message.
    fn begins_message(&self, segment: &[u8], is_whole: bool) -> bool {
        self.has_begun
            && (stun::in_stream(segment).is_some()
                || self.channel.is_some_and(|channel| segment.starts_with(&channel))
                || (is_whole && is_filled_by_channels(segment)))
    }

    fn hold(&mut self, ahead: usize, bytes: &[u8]) {
        self.held
            .get_or_insert_with(|| Box::new(Assembly::new(usize::MAX)))
            .add(ahead, bytes);
    }

    /// Read what is held up to the first gap.
    fn read_held(&mut self, take: &mut dyn FnMut(Message<'_>)) {
        let Some(mut held) = self.held.take() else {
            return;
        };
        let there = held.beginning().len();
        if there == 0 {
            self.held = Some(held);
            return;
        }
        let read = self.messages(held.beginning(), there, true, take);
        self.next_sequence = self.next_sequence.and_then(|next| Some(moved(next, read?)));
        if let Some(read) = read.filter(|read| *read <= there) {
            held.advance(read);
            self.held = Some(held).filter(|held| held.pieces().next().is_some());
        }
    }

    /// Give up what is missing: read what is held behind gaps, as far as it begins with a message.
    fn give_up(&mut self, take: &mut dyn FnMut(Message<'_>)) {
        self.next_sequence = None;
        if let Some(held) = self.held.take() {
            for piece in held.pieces() {
                self.messages(piece, piece.len(), false, take);
            }
        }
    }

    /// Pass on the messages in a part of the stream, of which `captured` is there; one that goes on behind the part is
    /// left, unless the capture has less of it anyway or it is too long to be held.
    fn messages(
        &mut self,
        captured: &[u8],
        bytes: usize,
        mut in_stream: bool,
        take: &mut dyn FnMut(Message<'_>),
    ) -> Read {
        let is_whole = captured.len() == bytes;
        let mut offset = 0;
        while offset < bytes {
            let rest = captured.get(offset..).unwrap_or_default();
            let begins = in_stream || self.begins_message(rest, is_whole);
            let message = match stun::in_stream(rest) {
                Some(message) => Some((Message::Stun(message), message.whole_bytes)),
                None if begins => {
                    stun::channel_in_stream(rest).map(|(carried, bytes)| (Message::Channel(carried), bytes))
                }
                None => None,
            };
            match message {
                Some((_, whole_bytes))
                    if is_whole && offset + whole_bytes > bytes && whole_bytes <= HELD_BYTES =>
                {
                    break;
                }
                Some((message, whole_bytes)) => {
                    if matches!(message, Message::Channel(_)) {
                        self.channel = rest.first_chunk().copied();
                    }
                    self.has_begun = true;
                    take(message);
                    offset += whole_bytes;
                    in_stream = true;
                }
                None if in_stream && is_whole && rest.len() < header_bytes(rest) => break,
                None => return None,
            }
        }
        Some(offset)
    }
}

/// Whether a part of the stream is messages of channels from its first byte to its last.
fn is_filled_by_channels(part: &[u8]) -> bool {
    let mut rest = part;
    while let Some((_, bytes)) = stun::channel_in_stream(rest) {
        match rest.get(bytes..) {
            Some([]) => return true,
            Some(later) => rest = later,
            None => return false,
        }
    }
    false
}

/// How much of a message tells what it is.
fn header_bytes(message: &[u8]) -> usize {
    match message.first() {
        Some(0..=0x3f) => STUN_HEADER_BYTES,
        Some(0x40..=0x4f) => CHANNEL_HEADER_BYTES,
        _ => 0,
    }
}

fn moved(sequence: u32, bytes: usize) -> u32 {
    sequence.wrapping_add(u32::try_from(bytes).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::stun::tests::stun;

    /// The segments of a stream, each with its sequence number, and the kinds of messages in them.
    fn kinds(segments: &[(u32, &[u8])]) -> String {
        let mut framing = Framing::default();
        let mut letters = String::new();
        for (sequence, bytes) in segments {
            framing.segment(*sequence, bytes, bytes.len() as u32, &mut |message| {
                letters.push(match message {
                    Message::Stun(_) => 's',
                    Message::Channel(carried) if carried.bytes.len() == carried.payload_bytes as usize => 'c',
                    _ => '?',
                });
            });
        }
        letters
    }

    fn channel(payload_bytes: u8) -> Vec<u8> {
        let mut message = vec![0x40, 1, 0, payload_bytes];
        message.resize(4 + usize::from(payload_bytes).next_multiple_of(4), 7);
        message
    }

    #[test]
    fn messages_are_whole_wherever_segments_end_and_in_which_order_they_come() {
        let stream = [stun(3, 1, &[]), channel(9), stun(0x16, 1, &[]), channel(9)].concat();
        let first = u32::MAX - 30;
        let at = |place: usize| (first.wrapping_add(place as u32), &stream[place..]);
        assert_eq!(kinds(&[at(0)]), "scsc");
        assert_eq!(kinds(&[at(0), at(0)]), "scsc");
        for cut in 1..stream.len() {
            let (one, other) = ((first, &stream[..cut]), at(cut));
            // A connection is one of TURN only if its first segment shows the start of a message.
            if cut >= STUN_HEADER_BYTES {
                assert_eq!(kinds(&[one, other]), "scsc", "{cut}");
                assert_eq!(kinds(&[one, other, one, other]), "scsc", "{cut}");
                for later in cut + 1..stream.len() {
                    let middle = (at(cut).0, &stream[cut..later]);
                    assert_eq!(kinds(&[one, middle, at(later)]), "scsc", "{cut} {later}");
                    let mut kinds: Vec<_> = kinds(&[one, at(later), middle]).chars().collect();
                    kinds.sort_unstable();
                    assert_eq!(kinds, ['c', 'c', 's', 's'], "{cut} {later}");
                }
            }
        }
    }

    #[test]
    fn behind_bytes_that_never_come_a_known_channel_or_stun_begins_a_message() {
        let head = [stun(3, 1, &[]), channel(9)].concat();
        let mut segments: Vec<(u32, Vec<u8>)> = vec![(5, head)];
        for place in 0..40 {
            segments.push((1000 + place * 204, channel(200)));
        }
        let borrowed: Vec<_> = segments
            .iter()
            .map(|(sequence, bytes)| (*sequence, bytes.as_slice()))
            .collect();
        assert_eq!(kinds(&borrowed), format!("sc{}", "c".repeat(40)));
        // A segment of whole messages is known by them, the middle of one is none.
        segments.truncate(1);
        segments.push((10_000, [&[0x41, 1, 0, 4][..], &[7; 4]].concat()));
        segments.push((15_000, [&[0x42, 1, 0, 4][..], &[7; 5]].concat()));
        segments.push((20_000, vec![7; 50]));
        segments.push((30_000, stun(1, 4, &[])));
        let borrowed: Vec<_> = segments
            .iter()
            .map(|(sequence, bytes)| (*sequence, bytes.as_slice()))
            .collect();
        assert_eq!(kinds(&borrowed), "sccs");
    }

    #[test]
    fn of_a_message_that_was_cut_when_captured_the_start_is_passed_on_at_once() {
        let mut framing = Framing::default();
        let mut channels = Vec::new();
        let stream = [stun(3, 1, &[]), channel(200), channel(200)].concat();
        for (sequence, captured, bytes) in [(5, 60, 224), (229, 30, 204)] {
            let from = (sequence - 5) as usize;
            framing.segment(sequence, &stream[from..from + captured], bytes, &mut |message| {
                if let Message::Channel(carried) = message {
                    channels.push((carried.bytes.len(), carried.payload_bytes));
                }
            });
        }
        assert_eq!(channels, [(36, 200), (26, 200)]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut framing = Framing::default();
        let mut messages = 0;
        framing.segment(5, &stun(3, 1, &[]), 20, &mut |_| messages += 1);
        for place in 0..100u32 {
            framing.segment(1_000 + place * 11_000, &[7; 3000], 3000, &mut |_| messages += 1);
        }
        assert_eq!(messages, 1);
        assert!(
            framing
                .held
                .is_none_or(|held| held.pieces().map(<[u8]>::len).sum::<usize>() <= HELD_BYTES)
        );
    }

    #[test]
    fn gaps_do_not_lie_in_one_another() {
        let mut framing = Framing::default();
        let mut messages = 0;
        let message = stun(3, 1, &[]);
        framing.segment(0, &message, 20, &mut |_| messages += 1);
        // Each further segment is before the last one, with a gap between them.
        for place in (1..200_000u32).rev() {
            framing.segment(place * 50, &message, 20, &mut |_| messages += 1);
        }
        assert!(messages >= 2);
        assert!(framing.gap.is_none_or(|gap| gap.0.gap.is_none()));
    }

    #[test]
    fn a_stream_that_does_not_begin_with_stun_is_left_alone() {
        assert_eq!(
            kinds(&[(5, &[0x40, 1, 0, 4, 1, 2, 3, 4]), (13, &[0x16, 3, 1, 0])]),
            ""
        );
    }
}
