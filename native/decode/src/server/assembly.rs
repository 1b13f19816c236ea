//! The first bytes of a stream, put together out of pieces in any order.

/// Pieces with gaps between them; more is no reordering but noise.
const PIECES: usize = 32;

/// Bytes by their place in the stream, up to a bound.
#[derive(Debug)]
pub(crate) struct Assembly {
    bytes: Vec<u8>,
    /// Start and end of what is there: in order, with gaps between them.
    pieces: Vec<(usize, usize)>,
    bound: usize,
}

impl Assembly {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            bytes: Vec::new(),
            pieces: Vec::new(),
            bound,
        }
    }

    /// Put in a piece that begins at `offset`; what lies beyond the bound is left out.
    pub(crate) fn add(&mut self, offset: usize, piece: &[u8]) {
        let end = offset.saturating_add(piece.len()).min(self.bound);
        let Some(piece) = end
            .checked_sub(offset)
            .filter(|length| *length > 0)
            .and_then(|length| piece.get(..length))
        else {
            return;
        };
        let touches = |other: &(usize, usize)| other.0 <= end && other.1 >= offset;
        if self.pieces.len() >= PIECES && !self.pieces.iter().any(touches) {
            return;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(offset..end) {
            place.copy_from_slice(piece);
        }
        let mut joined = (offset, end);
        self.pieces.retain(|other| {
            if other.0 <= joined.1 && other.1 >= joined.0 {
                joined = (joined.0.min(other.0), joined.1.max(other.1));
                false
            } else {
                true
            }
        });
        let place = self.pieces.partition_point(|other| other.0 < joined.0);
        self.pieces.insert(place, joined);
    }

    /// Memory that is kept, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity() + self.pieces.capacity() * size_of::<(usize, usize)>()
    }

    /// What is there from the start on without a gap.
    pub(crate) fn beginning(&self) -> &[u8] {
        match self.pieces.first() {
            Some((0, end)) => self.bytes.get(..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// All that is there, in order, without the gaps.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces
            .iter()
            .filter_map(|(start, end)| self.bytes.get(*start..*end))
    }

    /// Give up the first `count` bytes of the beginning: the stream starts behind them.
    pub(crate) fn advance(&mut self, count: usize) {
        let count = count.min(self.beginning().len());
        self.bytes.drain(..count);
        self.bytes.shrink_to_fit();
        for piece in &mut self.pieces {
            *piece = (piece.0.saturating_sub(count), piece.1.saturating_sub(count));
        }
        self.pieces.retain(|piece| piece.0 < piece.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_any_order_and_over_one_another_give_the_stream() {
        let stream: Vec<u8> = (0..100).collect();
        let mut state = 5u64;
        for _ in 0..200 {
            let mut assembly = Assembly::new(100);
            let mut there = [false; 100];
            for _ in 0..60 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let start = (state >> 40) as usize % 100;
                let end = (start + (state >> 50) as usize % 9).min(100);
                assembly.add(start, &stream[start..end]);
                there[start..end].fill(true);
                let whole = there.iter().take_while(|there| **there).count();
                assert_eq!(assembly.beginning(), &stream[..whole]);
            }
        }
    }

    #[test]
    fn nothing_is_kept_beyond_the_bound() {
        let mut assembly = Assembly::new(4);
        assembly.add(2, &[2; 9]);
        assembly.add(usize::MAX, &[3; 9]);
        assembly.add(4, &[4]);
        assembly.add(0, &[0, 1]);
        assert_eq!(assembly.beginning(), [0, 1, 2, 2]);
        assert_eq!(assembly.bytes.len(), 4);
    }

    #[test]
    fn of_many_gaps_the_later_ones_are_left_out() {
        let mut assembly = Assembly::new(1000);
        for place in 0..200 {
            assembly.add(1 + 2 * place, &[1]);
        }
        assert_eq!(assembly.pieces.len(), PIECES);
    }

    #[test]
    fn a_stream_advances() {
        let mut assembly = Assembly::new(10);
        assembly.add(0, &[1, 2, 3]);
        assembly.add(5, &[6]);
        assembly.advance(2);
        assert_eq!(assembly.beginning(), [3]);
        assembly.add(1, &[4, 5]);
        assert_eq!(assembly.beginning(), [3, 4, 5, 6]);
        assembly.advance(99);
        assert!(assembly.beginning().is_empty());
    }
}
