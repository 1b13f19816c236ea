//! Reads of fixed-width numbers out of captured bytes that may end anywhere.

/// The big-endian 16-bit number at `offset`, or `None` where the bytes end before.
pub(crate) fn be_u16(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_be_bytes(field.try_into().ok()?))
}

/// The little-endian 16-bit number at `offset`, or `None` where the bytes end before.
pub(crate) fn le_u16(bytes: &[u8], offset: usize) -> Option<u16> {
    be_u16(bytes, offset).map(u16::swap_bytes)
}

/// The big-endian 32-bit number at `offset`, or `None` where the bytes end before.
pub(crate) fn be_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_be_bytes(field.try_into().ok()?))
}

/// The little-endian 32-bit number at `offset`, or `None` where the bytes end before.
pub(crate) fn le_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    be_u32(bytes, offset).map(u32::swap_bytes)
}

/// The little-endian 64-bit number at `offset`, or `None` where the bytes end before.
pub(crate) fn le_u64(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}
