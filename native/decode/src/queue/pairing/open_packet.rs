//! A packet whose end is awaited, by the kernel buffer that holds it.

use hashbrown::HashMap;

/// Key of a kernel buffer: its address, and the number of the queue.
pub(crate) type BufferKey = (u64, u32);

/// Index of the open packet of each buffer.
pub(crate) type OpenPackets = HashMap<BufferKey, i64>;

/// An open packet with its buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferKeyed {
    pub(crate) key: BufferKey,
    pub(crate) index: i64,
}
