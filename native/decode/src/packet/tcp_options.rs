//! TCP options that the analysis uses, out of a header that may be snapped inside them.

use crate::input::bytes::{be_u16, be_u32};
use crate::packet::accurate_ecn::{AccurateEcn, KIND_ECT0_FIRST, KIND_ECT1_FIRST, KIND_EXPERIMENT};
use crate::twos_complement::TwosComplement;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Value and echo of the timestamps option (RFC 7323).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timestamps {
    pub(crate) value: u32,
    pub(crate) echo: u32,
}

/// The options of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TcpOptions {
    pub(crate) timestamps: Option<Timestamps>,
    /// Of a SYN: payload and options of a segment that its sender accepts, in bytes (RFC 9293, 3.7.1).
    pub(crate) maximum_segment_size: Option<u16>,
    pub(crate) selective_acknowledgement: bool,
    /// The first block repeats what was acknowledged before (RFC 2883).
    pub(crate) duplicate_selective_acknowledgement: bool,
    /// End of the highest block; only where there is a selective acknowledgement.
    pub(crate) highest_selective_end: u32,
    /// The byte counters of Accurate ECN.
    pub(crate) accurate_ecn: Option<AccurateEcn>,
}

impl TcpOptions {
    /// Read the captured part of the options of a segment with the given acknowledgement number.
    pub(crate) fn read(acknowledgement: u32, options: &[u8]) -> Self {
        // What nearly every segment of a connection with timestamps has, and nothing else.
        if let [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, rest @ ..] = options {
            if rest.len() == 8 {
                return Self {
                    timestamps: timestamps(rest),
                    ..Self::default()
                };
            }
        }
        let mut fields = Self::default();
        let mut rest = options;
        loop {
            match rest {
                [] | [END, ..] => return fields,
                [NO_OPERATION, after @ ..] => rest = after,
                [kind, length, after @ ..] => {
                    let Some(value_bytes) = usize::from(*length).checked_sub(2) else {
                        return fields;
                    };
                    let Some(value) = after.get(..value_bytes) else {
                        return fields;
                    };
                    match *kind {
                        TIMESTAMPS if value_bytes == 8 => fields.timestamps = timestamps(value),
                        MAXIMUM_SEGMENT_SIZE if value_bytes == 2 => {
                            fields.maximum_segment_size = be_u16(value, 0).filter(|most| *most > 0);
                        }
                        SACK if value_bytes >= 8 => {
                            fields.selective_acknowledgement = true;
                            fields.duplicate_selective_acknowledgement = is_duplicate(acknowledgement, value);
                            fields.highest_selective_end = highest_end(acknowledgement, value);
                        }
                        KIND_ECT0_FIRST | KIND_ECT1_FIRST | KIND_EXPERIMENT => {
                            fields.accurate_ecn = fields.accurate_ecn.or(AccurateEcn::read(*kind, value));
                        }
                        _ => {}
                    }
                    rest = after.get(value_bytes..).unwrap_or_default();
                }
                [_] => return fields,
            }
        }
    }
}

fn timestamps(value: &[u8]) -> Option<Timestamps> {
    Some(Timestamps {
        value: be_u32(value, 0)?,
        echo: be_u32(value, 4)?,
    })
}

/// The highest end of a block, or the acknowledgement if every block is below it.
fn highest_end(acknowledgement: u32, blocks: &[u8]) -> u32 {
    let ends = (0..4).filter_map(|block| be_u32(blocks, block * 8 + 4));
    ends.fold(acknowledgement, |highest, end| {
        if end.wrapping_sub(highest).signed() > 0 {
            end
        } else {
            highest
        }
    })
}

/// RFC 2883, 4: the first block is below the acknowledgement, or within the second block.
fn is_duplicate(acknowledgement: u32, blocks: &[u8]) -> bool {
    let block = |place: usize| Some((be_u32(blocks, place)?, be_u32(blocks, place + 4)?));
    let not_after = |first: u32, second: u32| second.wrapping_sub(first).signed() >= 0;
    let Some((start, end)) = block(0) else {
        return false;
    };
    if not_after(end, acknowledgement) {
        return true;
    }
    block(8)
        .is_some_and(|(outer_start, outer_end)| not_after(outer_start, start) && not_after(end, outer_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order_and_when_cut() {
        let mut options = vec![2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 3, 3, 7];
        let expected = Some(Timestamps { value: 7, echo: 9 });
        assert_eq!(TcpOptions::read(0, &options).timestamps, expected);
        assert_eq!(TcpOptions::read(0, &options[..15]).timestamps, None);
        assert_eq!(TcpOptions::read(0, &options[..16]).timestamps, expected);
        options[1] = 0;
        assert_eq!(TcpOptions::read(0, &options).timestamps, None);
        let usual = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];
        assert_eq!(TcpOptions::read(0, &usual).timestamps, expected);
    }

    #[test]
    fn a_repeated_range_is_told_from_a_new_one() {
        let sack = |first: (u32, u32), second: (u32, u32)| {
            let mut options = vec![1, 1, 5, 18];
            for edge in [first.0, first.1, second.0, second.1] {
                options.extend(edge.to_be_bytes());
            }
            TcpOptions::read(1000, &options)
        };
        assert!(sack((900, 1000), (2000, 3000)).duplicate_selective_acknowledgement);
        assert!(sack((2100, 2200), (2000, 3000)).duplicate_selective_acknowledgement);
        let plain = sack((2000, 3000), (4000, 5000));
        assert!(plain.selective_acknowledgement && !plain.duplicate_selective_acknowledgement);
    }
}
