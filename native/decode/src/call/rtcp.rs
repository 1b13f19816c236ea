//! RTCP by its shape: compound packets (RFC 3550, section 6.1; RFC 5506 for reduced ones), and SRTCP (RFC 3711).

use crate::input::bytes::{be_u16, be_u32};
use crate::twos_complement::TwosComplement;

const HEADER_BYTES: usize = 4;
pub(crate) const SENDER_REPORT: u8 = 200;
pub(crate) const RECEIVER_REPORT: u8 = 201;
const REPORT_BLOCK_BYTES: usize = 24;
const SENDER_INFO_BYTES: usize = 20;
/// The index and the shortest authentication tag behind an SRTCP packet (RFC 3711, section 3.4).
const SECURE_TRAILER_BYTES: usize = 8;
/// Jitter is a mean of differences of 32 bits with their sign (RFC 3550, A.8), which never reaches this.
const JITTER_BOUND_UNITS: u32 = 1 << 31;

/// How the packets of a payload can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Packets fill the payload: what they say is in the clear.
    Plain,
    /// The first header is RTCP's, and what follows is not: encrypted.
    Secure,
    /// The capture ends before it shows.
    Cut,
}

/// RTCP in one payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rtcp<'p> {
    pub(crate) form: Form,
    /// Sender of the first packet.
    pub(crate) ssrc: u32,
    bytes: &'p [u8],
}

/// A report of one receiver on one source (RFC 3550, section 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportBlock {
    pub(crate) reporter: u32,
    pub(crate) source: u32,
    /// In 1/256 since the report before.
    pub(crate) fraction_lost: u8,
    pub(crate) lost_packets: i32,
    pub(crate) jitter_units: u32,
    pub(crate) last_report: u32,
    /// In 1/65536 s.
    pub(crate) delay_since: u32,
}

/// What one packet of a compound says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statement {
    /// A sender report: its source, and the middle 32 bits of its NTP time.
    Sent {
        source: u32,
        time: u32,
    },
    Received(ReportBlock),
    /// A report block that says what none can (RFC 3550, section 6.4.1): see [`Rtcp::each`].
    Refused,
}

/// RTCP in a payload, of which `captured` is there.
pub(crate) fn datagram(captured: &[u8], payload_bytes: u32) -> Option<Rtcp<'_>> {
    let whole_bytes = payload_bytes as usize;
    let ssrc = be_u32(captured, HEADER_BYTES)?;
    let mut offset = packet_end(captured, 0)?;
    if offset > whole_bytes || !matches!(captured.get(1)?, 200..=207) {
        return None;
    }
    let form = loop {
        if offset == whole_bytes {
            break Form::Plain;
        }
        if offset + HEADER_BYTES > captured.len() && captured.len() < whole_bytes {
            break Form::Cut;
        }
        match packet_end(captured, offset) {
            Some(end) if end <= whole_bytes => offset = end,
            _ if whole_bytes >= offset + SECURE_TRAILER_BYTES || offset > HEADER_BYTES => break Form::Secure,
            _ => return None,
        }
    };
    Some(Rtcp {
        form,
        ssrc,
        bytes: captured,
    })
}

/// Where the packet at `offset` ends, if there is one: version 2, and a type of RTCP (RFC 5761, section 4).
fn packet_end(bytes: &[u8], offset: usize) -> Option<usize> {
    let [first, kind] = bytes.get(offset..offset + 2)?.try_into().ok()?;
    if first >> 6 != 2 || !(192..=223).contains(&kind) {
        return None;
    }
    Some(offset + HEADER_BYTES * (1 + usize::from(be_u16(bytes, offset + 2)?)))
}

impl Rtcp<'_> {
    /// Pass on what its sender and receiver reports say, as far as they were captured; nothing if it is encrypted.
    ///
    /// A report block is refused if it lies beyond the end of its packet, if more packets are lost than the highest
    /// sequence number leaves room for, or if its jitter is beyond all differences of timestamps.
    pub(crate) fn each(&self, mut take: impl FnMut(Statement)) {
        let mut offset = 0;
        if self.form == Form::Secure {
            return;
        }
        while let Some(end) = packet_end(self.bytes, offset) {
            self.packet(offset, end, &mut take);
            offset = end;
        }
    }

    fn packet(&self, offset: usize, end: usize, take: &mut impl FnMut(Statement)) {
        let number = |place| be_u32(self.bytes, place);
        let kind = self.bytes.get(offset + 1).copied().unwrap_or_default();
        let count = self
            .bytes
            .get(offset)
            .map_or(0, |first| usize::from(first & 0x1f));
        let Some(sender) = number(offset + HEADER_BYTES) else {
            return;
        };
        let mut place = offset + 2 * HEADER_BYTES;
        match kind {
            SENDER_REPORT => {
                if let (Some(seconds), Some(fraction)) = (number(place), number(place + 4)) {
                    take(Statement::Sent {
                        source: sender,
                        time: seconds << 16 | fraction >> 16,
                    });
                }
                place += SENDER_INFO_BYTES;
            }
            RECEIVER_REPORT => {}
            _ => return,
        }
        for _ in 0..count {
            if place + REPORT_BLOCK_BYTES > end {
                return take(Statement::Refused);
            }
            let (Some(source), Some(loss), Some(highest), Some(jitter_units), Some(last), Some(delay_since)) = (
                number(place),
                number(place + 4),
                number(place + 8),
                number(place + 12),
                number(place + 16),
                number(place + 20),
            ) else {
                return;
            };
            let [fraction_lost, ..] = loss.to_be_bytes();
            // The lower 24 bits, with their sign.
            let lost_packets = (loss << 8).signed() >> 8;
            let possible =
                i64::from(lost_packets) <= i64::from(highest) + 1 && jitter_units < JITTER_BOUND_UNITS;
            take(if possible {
                Statement::Received(ReportBlock {
                    reporter: sender,
                    source,
                    fraction_lost,
                    lost_packets,
                    jitter_units,
                    last_report: last,
                    delay_since,
                })
            } else {
                Statement::Refused
            });
            place += REPORT_BLOCK_BYTES;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn packet(kind: u8, count: u8, words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0x80 | count, kind];
        bytes.extend((words.len() as u16).to_be_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes
    }

    /// A sender report of source 7 at an NTP time, and its name.
    pub(crate) fn sender_report(seconds: u32, fraction: u32) -> Vec<u8> {
        let mut bytes = packet(SENDER_REPORT, 0, &[7, seconds, fraction, 0, 10, 1000]);
        bytes.extend(packet(202, 1, &[7, 0x0100_0000]));
        bytes
    }

    /// A receiver report of source 8 on source 7.
    pub(crate) fn receiver_report(loss: u32, jitter: u32, last: u32, delay: u32) -> Vec<u8> {
        packet(RECEIVER_REPORT, 1, &[8, 7, loss, 99, jitter, last, delay])
    }

    fn form_and_statements(bytes: &[u8], whole_bytes: usize) -> (Option<Form>, Vec<Statement>) {
        let mut statements = Vec::new();
        let rtcp = datagram(bytes, whole_bytes as u32);
        if let Some(rtcp) = rtcp {
            rtcp.each(|statement| statements.push(statement));
        }
        (rtcp.map(|rtcp| rtcp.form), statements)
    }

    #[test]
    fn reports_are_read() {
        let bytes = [
            sender_report(0x1234_5678, 0x9abc_def0),
            receiver_report(0x80ff_fffe, 160, 5, 6),
        ]
        .concat();
        let (form, statements) = form_and_statements(&bytes, bytes.len());
        assert_eq!(form, Some(Form::Plain));
        let block = ReportBlock {
            reporter: 8,
            source: 7,
            fraction_lost: 0x80,
            lost_packets: -2,
            jitter_units: 160,
            last_report: 5,
            delay_since: 6,
        };
        assert_eq!(
            statements,
            [
                Statement::Sent {
                    source: 7,
                    time: 0x5678_9abc
                },
                Statement::Received(block)
            ]
        );
    }

    #[test]
    fn a_cut_packet_gives_what_is_there() {
        let bytes = [sender_report(1, 2), receiver_report(0, 160, 5, 6)].concat();
        for length in 0..8 {
            assert_eq!(form_and_statements(&bytes[..length], bytes.len()).0, None);
        }
        for length in 8..bytes.len() {
            let (form, statements) = form_and_statements(&bytes[..length], bytes.len());
            // From the header of the last packet on it shows that packets fill the payload.
            let last = bytes.len() - receiver_report(0, 0, 0, 0).len() + 4;
            assert_eq!(
                form,
                Some(if length < last { Form::Cut } else { Form::Plain }),
                "{length}"
            );
            assert_eq!(statements.len(), usize::from(length >= 16));
        }
    }

    #[test]
    fn what_follows_no_header_is_encrypted() {
        let mut bytes = sender_report(1, 2);
        bytes[28..].fill(0x33);
        bytes.extend([0x33; 14]);
        assert_eq!(
            form_and_statements(&bytes, bytes.len()),
            (Some(Form::Secure), vec![])
        );
        let mut alone = receiver_report(0, 0, 0, 0);
        alone.extend([0x33; 14]);
        assert_eq!(form_and_statements(&alone, alone.len()).0, Some(Form::Secure));
    }

    #[test]
    fn other_payloads_are_not_rtcp() {
        let bytes = packet(SENDER_REPORT, 0, &[7; 6]);
        assert_eq!(form_and_statements(&bytes, 27).0, None);
        assert_eq!(form_and_statements(&packet(199, 0, &[7; 6]), 28).0, None);
    }

    #[test]
    fn what_no_report_can_say_is_refused() {
        let refused = |bytes: &[u8]| {
            let (_, statements) = form_and_statements(bytes, bytes.len());
            (
                statements
                    .iter()
                    .filter(|said| **said == Statement::Refused)
                    .count(),
                statements.len(),
            )
        };
        // Of 100 packets up to the number 99, that of the test's reports, 100 may be lost, and 101 not.
        assert_eq!(refused(&receiver_report(100, 0, 0, 0)), (0, 1));
        assert_eq!(refused(&receiver_report(101, 0, 0, 0)), (1, 1));
        // Duplicates make the loss negative, without a bound.
        assert_eq!(refused(&receiver_report(0x0080_0000, 0, 0, 0)), (0, 1));
        assert_eq!(refused(&receiver_report(0, (1 << 31) - 1, 0, 0)), (0, 1));
        assert_eq!(refused(&receiver_report(0, 1 << 31, 0, 0)), (1, 1));
        // More blocks than the packet is long.
        assert_eq!(
            refused(&packet(RECEIVER_REPORT, 31, &[8, 7, 0, 0, 0, 0, 0])),
            (1, 2)
        );
    }
}
