//! The byte counters of Accurate ECN in a TCP option (RFC 9768, 3.2.3).

/// Counters in the order ECT(0), CE, ECT(1) (`AccECN0`).
pub(crate) const KIND_ECT0_FIRST: u8 = 172;
/// Counters in the order ECT(1), CE, ECT(0) (`AccECN1`).
pub(crate) const KIND_ECT1_FIRST: u8 = 174;

/// The kind for experiments (RFC 6994), with which kernels of before RFC 9768 sent the same counters.
pub(crate) const KIND_EXPERIMENT: u8 = 254;
const EXPERIMENT_ECT0_FIRST: [u8; 2] = [0xac, 0xc0];
const EXPERIMENT_ECT1_FIRST: [u8; 2] = [0xac, 0xc1];

const COUNTER_BYTES: usize = 3;

/// One option: payload bytes that arrived with each codepoint, modulo 2^24. A sender may leave counters out from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AccurateEcn {
    pub(crate) ect1_first: bool,
    /// It came in an option for experiments, whose counters need not begin where RFC 9768 lets them begin.
    pub(crate) experimental: bool,
    pub(crate) ect0: Option<u32>,
    pub(crate) ce: Option<u32>,
    pub(crate) ect1: Option<u32>,
}

impl AccurateEcn {
    /// Read the value of an option; `None` where its length is not that of none to three whole counters.
    pub(crate) fn read(kind: u8, value: &[u8]) -> Option<Self> {
        let experimental = kind == KIND_EXPERIMENT;
        let (ect1_first, value) = match (kind, value.split_first_chunk::<2>()) {
            (KIND_ECT0_FIRST, _) => (false, value),
            (KIND_ECT1_FIRST, _) => (true, value),
            (KIND_EXPERIMENT, Some((&EXPERIMENT_ECT0_FIRST, counters))) => (false, counters),
            (KIND_EXPERIMENT, Some((&EXPERIMENT_ECT1_FIRST, counters))) => (true, counters),
            _ => return None,
        };
        if value.len() % COUNTER_BYTES != 0 || value.len() > 3 * COUNTER_BYTES {
            return None;
        }
        let mut counters = value.chunks_exact(COUNTER_BYTES).map(|counter| {
            counter
                .iter()
                .fold(0, |number, byte| number << 8 | u32::from(*byte))
        });
        let (first, ce, last) = (counters.next(), counters.next(), counters.next());
        let (ect0, ect1) = if ect1_first { (last, first) } else { (first, last) };
        Some(Self {
            ect1_first,
            experimental,
            ect0,
            ce,
            ect1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tcp_options::TcpOptions;

    const COUNTERS: [u8; 9] = [0, 0, 1, 0, 2, 0, 3, 0, 0];

    #[test]
    fn both_orders_are_read() {
        let option = AccurateEcn::read(KIND_ECT0_FIRST, &COUNTERS).unwrap();
        assert_eq!(
            (option.ect0, option.ce, option.ect1),
            (Some(1), Some(0x200), Some(0x3_0000))
        );
        let option = AccurateEcn::read(KIND_ECT1_FIRST, &COUNTERS).unwrap();
        assert_eq!(
            (option.ect1, option.ce, option.ect0),
            (Some(1), Some(0x200), Some(0x3_0000))
        );
    }

    #[test]
    fn the_form_for_experiments_is_read_and_other_experiments_are_not() {
        let value = [&EXPERIMENT_ECT0_FIRST[..], &COUNTERS].concat();
        let option = AccurateEcn::read(KIND_EXPERIMENT, &value).unwrap();
        assert!(option.experimental && !option.ect1_first);
        assert_eq!(option.ce, Some(0x200));
        assert_eq!(AccurateEcn::read(KIND_EXPERIMENT, &[0xf9, 0x89, 1, 2, 3]), None);
        assert_eq!(AccurateEcn::read(KIND_EXPERIMENT, &[0xac]), None);
    }

    #[test]
    fn counters_may_be_left_out_from_the_end_and_only_whole() {
        for length in 0..=12 {
            let value = [7; 12];
            let option = AccurateEcn::read(KIND_ECT0_FIRST, &value[..length]);
            assert_eq!(option.is_some(), matches!(length, 0 | 3 | 6 | 9), "{length}");
            if let Some(option) = option {
                let counters = [option.ect0, option.ce, option.ect1];
                assert_eq!(counters.iter().flatten().count(), length / 3);
            }
        }
    }

    #[test]
    fn an_option_that_the_capture_cut_is_not_read() {
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, KIND_ECT1_FIRST, 11];
        options.extend(COUNTERS);
        for kept in 0..options.len() {
            assert_eq!(
                TcpOptions::read(0, &options[..kept]).accurate_ecn,
                None,
                "{kept} bytes"
            );
        }
        let whole = TcpOptions::read(0, &options);
        assert_eq!(whole.accurate_ecn.unwrap().ce, Some(0x200));
        assert!(whole.timestamps.is_some());
    }
}
