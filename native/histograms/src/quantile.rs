//! Quantiles as ratios of whole numbers, so that their ranks are exact.

use crate::fault::HistogramFault;

/// A quantile, such as 95 of 100.
#[derive(Debug, Clone, Copy)]
pub struct Quantile {
    numerator: u64,
    denominator: u64,
}

impl Quantile {
    /// Return the quantile of a ratio.
    ///
    /// # Errors
    ///
    /// [`HistogramFault::Quantile`] for a ratio that is not from 0 to 1.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, HistogramFault> {
        if denominator == 0 || numerator > denominator {
            return Err(HistogramFault::Quantile);
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }

    /// Return the rank of the quantile among `total` values by the inverted CDF: q n rounded up, and at least 1.
    #[must_use]
    pub fn rank(self, total: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(total);
        // The ratio is at most 1, so the rank is at most the total.
        u64::try_from(product.div_ceil(u128::from(self.denominator)))
            .unwrap_or(total)
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_rounded_up_exactly() {
        let rank = |numerator, denominator, total| Quantile::new(numerator, denominator).unwrap().rank(total);
        assert_eq!(rank(7, 100, 100), 7);
        assert_eq!(rank(0, 1, 100), 1);
        assert_eq!(rank(1, 1, 100), 100);
        assert_eq!(rank(1, 2, 5), 3);
        assert_eq!(
            rank(999_999_999_999, 1_000_000_000_000, u64::MAX / 2),
            9_223_372_036_845_552_435
        );
    }

    #[test]
    fn what_is_no_quantile_is_refused() {
        assert_eq!(Quantile::new(2, 1).err(), Some(HistogramFault::Quantile));
        assert_eq!(Quantile::new(0, 0).err(), Some(HistogramFault::Quantile));
    }
}
