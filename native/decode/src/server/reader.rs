//! Fields of a message one after the other, out of bytes that may end anywhere.

/// What is left of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'b>(pub(crate) &'b [u8]);

impl<'b> Fields<'b> {
    /// The next `count` bytes; `None`, and nothing taken, where fewer are left.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    pub(crate) fn u24(&mut self) -> Option<u32> {
        let [high, middle, low] = *self.bytes(3)? else {
            return None;
        };
        Some(u32::from_be_bytes([0, high, middle, low]))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// A QUIC number of 1, 2, 4 or 8 bytes (RFC 9000, 16).
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let bytes = self.bytes(1 << (first >> 6))?;
        let number = bytes
            .iter()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        // The two highest bits are the length.
        Some(number & (u64::MAX >> (66 - 8 * bytes.len())))
    }

    /// A field behind its length of one byte.
    pub(crate) fn after_u8(&mut self) -> Option<&'b [u8]> {
        let count = self.u8()?;
        self.bytes(usize::from(count))
    }

    /// A field behind its length of two bytes.
    pub(crate) fn after_u16(&mut self) -> Option<&'b [u8]> {
        let count = self.u16()?;
        self.bytes(usize::from(count))
    }

    /// A field behind its QUIC number.
    pub(crate) fn after_varint(&mut self) -> Option<&'b [u8]> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.bytes(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_quic_are_those_of_the_standard() {
        // The examples of RFC 9000, A.1.
        for (bytes, number) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d][..], 494_878_333),
            (&[0x7b, 0xbd][..], 15_293),
            (&[0x25][..], 37),
        ] {
            assert_eq!(Fields(bytes).varint(), Some(number));
            assert_eq!(Fields(&bytes[..bytes.len() - 1]).varint(), None);
        }
    }
}
