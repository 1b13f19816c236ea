//! gzip (RFC 1952): one or several members.

use flate2::{Decompress, FlushDecompress, Status};

use crate::input::decompressed::{Decompressor, End, Step};

/// The largest window of deflate, 32 KiB, as a power of two.
const WINDOW_BITS: u8 = 15;

/// Decompressor of members in a row.
#[derive(Debug, Default)]
pub(crate) struct Gzip {
    /// `None` before the first member and between two.
    member: Option<Decompress>,
    /// Whether there was a member: what stores on tapes fills blocks with zeros behind the last one.
    may_be_padded: bool,
}

impl Decompressor for Gzip {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        if self.member.is_none() && input.is_empty() {
            return Step {
                read_bytes: 0,
                made_bytes: 0,
                end: Some(End::Whole),
            };
        }
        let padding_bytes = input.iter().take_while(|byte| **byte == 0).count();
        if self.member.is_none() && self.may_be_padded && padding_bytes > 0 {
            return Step {
                read_bytes: padding_bytes as u64,
                made_bytes: 0,
                end: None,
            };
        }
        let member = self
            .member
            .get_or_insert_with(|| Decompress::new_gzip(WINDOW_BITS));
        let (read, made) = (member.total_in(), member.total_out());
        let result = member.decompress(input, output, FlushDecompress::None);
        let (read_bytes, made_bytes) = (member.total_in() - read, member.total_out() - made);
        let end = match result {
            Ok(Status::StreamEnd) => {
                self.member = None;
                self.may_be_padded = true;
                None
            }
            Ok(_) if input.is_empty() && made_bytes == 0 => Some(End::Cut),
            Ok(_) => None,
            Err(error) => Some(End::Damaged(match error.message() {
                Some("incorrect data check" | "incorrect length check") => "checksum".to_owned(),
                Some(words) => words.to_owned(),
                None => error.to_string(),
            })),
        };
        Step {
            read_bytes,
            made_bytes,
            end,
        }
    }
}
