//! The signed number of the same bits, for which integers have a method of their own from Rust 1.87 on.

/// An unsigned integer of which a format uses the bits as two's complement.
pub(crate) trait TwosComplement {
    type Signed;

    /// The number with the same bits.
    fn signed(self) -> Self::Signed;
}

macro_rules! twos_complement {
    ($($unsigned:ty => $signed:ty),*) => {
        $(impl TwosComplement for $unsigned {
            type Signed = $signed;

            #[inline]
            fn signed(self) -> $signed {
                <$signed>::from_ne_bytes(self.to_ne_bytes())
            }
        })*
    };
}

twos_complement!(u8 => i8, u16 => i16, u32 => i32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bit_is_the_sign() {
        assert_eq!((0x7f_u8.signed(), 0xff_u8.signed()), (127, -1));
        assert_eq!((0x8000_u16.signed(), 0xffff_fffe_u32.signed()), (i16::MIN, -2));
    }
}
