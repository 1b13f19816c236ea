//! What is wrong with histograms that are refused.

/// Why histograms or groups of them are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistogramFault {
    /// Offsets do not ascend from 0 to the length of what they divide.
    Offsets,
    /// Bins and counts differ in number.
    Lengths,
    /// All counts together do not fit a signed 64-bit integer.
    Overflow,
    /// A group has a member that is not a histogram.
    Member,
    /// A group has no counts, and so no quantiles.
    Empty,
    /// A quantile is not a ratio from 0 to 1.
    Quantile,
}

impl std::fmt::Display for HistogramFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Offsets => "offsets must ascend from 0 to the length of what they divide",
            Self::Lengths => "bins and counts differ in number",
            Self::Overflow => "the counts together do not fit 64 bits",
            Self::Member => "a group has a member that is not a histogram",
            Self::Empty => "a group without counts has no quantile",
            Self::Quantile => "a quantile is a ratio from 0 to 1",
        })
    }
}

impl std::error::Error for HistogramFault {}
