//! STUN and `ChannelData` in TCP (RFC 8489, section 6.2.2; RFC 8656, section 12.5): where one message ends, the next begins.

use crate::call::message::Message;
use crate::call::stun;

/// Where the messages of one direction of a connection begin. Payload is not put together: of a message that goes on
/// in the next segment, only what the first one holds is read.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    next_sequence: Option<u32>,
}

impl Framing {
    /// Pass on the messages that begin in a segment.
    ///
    /// The first one must be STUN with its magic cookie, also where a gap was or a header lay across two segments.
    pub(crate) fn segment<'p>(
        &mut self,
        sequence: u32,
        captured: &'p [u8],
        payload_bytes: u32,
        mut take: impl FnMut(Message<'p>),
    ) {
        let ahead = self.next_sequence.map(|next| next.wrapping_sub(sequence));
        let mut offset = match ahead {
            // Not the segment with the next message, or one that was seen before.
            Some(ahead) if (payload_bytes..1 << 31).contains(&ahead) => return,
            Some(ahead) if ahead < payload_bytes => ahead,
            _ => {
                self.next_sequence = None;
                0
            }
        };
        while offset < payload_bytes {
            let rest = captured.get(offset as usize..).unwrap_or_default();
            let message = match stun::in_stream(rest) {
                Some(message) => Some((Message::Stun(message), message.whole_bytes)),
                None if self.next_sequence.is_some() => {
                    stun::channel_in_stream(rest).map(|(carried, bytes)| (Message::Channel(carried), bytes))
                }
                None => None,
            };
            let Some((message, whole_bytes)) = message else {
                self.next_sequence = None;
                return;
            };
            take(message);
            offset = offset.saturating_add(u32::try_from(whole_bytes).unwrap_or(u32::MAX));
            self.next_sequence = Some(sequence.wrapping_add(offset));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::stun::tests::stun;

    /// The segments of a stream, each with its sequence number, and the kinds of messages in them.
    fn kinds(segments: &[(u32, &[u8])]) -> String {
        let mut framing = Framing::default();
        let mut found = String::new();
        for (sequence, bytes) in segments {
            framing.segment(*sequence, bytes, bytes.len() as u32, |message| {
                found.push(match message {
                    Message::Stun(_) => 's',
                    Message::Channel(_) => 'c',
                    _ => '?',
                });
            });
        }
        found
    }

    #[test]
    fn messages_follow_on_across_segments() {
        let channel = [&[0x40, 1, 0, 9][..], &[7; 12]].concat();
        let stream = [stun(3, 1, &[]), channel.clone(), stun(0x16, 1, &[]), channel].concat();
        assert_eq!(kinds(&[(5, &stream)]), "scsc");
        for cut in 1..stream.len() {
            let (first, second) = stream.split_at(cut);
            let found = kinds(&[
                (u32::MAX - 9, first),
                ((u32::MAX - 9).wrapping_add(cut as u32), second),
            ]);
            // Where the cut is inside a header, the messages up to the next STUN are not read.
            assert!(
                ["scsc", "csc", "ssc", "scs", "sc", "s", ""].contains(&found.as_str()),
                "{cut} {found}"
            );
            assert_eq!(
                found == "scsc",
                !matches!(cut, 1..=19 | 21..=23 | 37..=55 | 57..=59),
                "{cut} {found}"
            );
        }
        // Again, and behind a gap.
        assert_eq!(kinds(&[(5, &stream), (5, &stream)]), "scsc");
        assert_eq!(kinds(&[(5, &stream), (900, &stream)]), "scscscsc");
    }

    #[test]
    fn a_stream_that_does_not_begin_with_stun_is_left_alone() {
        assert_eq!(
            kinds(&[(5, &[0x40, 1, 0, 4, 1, 2, 3, 4]), (13, &[0x16, 3, 1, 0])]),
            ""
        );
    }
}
