//! Directions of a flow.

/// Direction of a packet in its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// From the initiator: the sender of the first packet, or the receiver of a SYN-ACK that comes first.
    Fwd,
    Rev,
}

impl Direction {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Fwd => Self::Rev,
            Self::Rev => Self::Fwd,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fwd => "fwd",
            Self::Rev => "rev",
        }
    }
}

/// A value for each direction.
#[derive(Debug, Default)]
pub(crate) struct PerDirection<T> {
    pub(crate) fwd: T,
    pub(crate) rev: T,
}

impl<T> PerDirection<T> {
    pub(crate) fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Fwd => &self.fwd,
            Direction::Rev => &self.rev,
        }
    }

    pub(crate) fn get_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Fwd => &mut self.fwd,
            Direction::Rev => &mut self.rev,
        }
    }
}
