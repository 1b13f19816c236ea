//! What DNS answered to each client so far, bounded in number.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use hashbrown::HashMap;

/// Pairs of a client and an address that are remembered.
const PAIRS: usize = 1 << 16;

/// The client that asked, and an address that it was told.
type Pair = (IpAddr, IpAddr);

/// The last name for which each client was told each address.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    names: HashMap<Pair, (u64, Arc<str>)>,
    /// In the order in which they were told, with the number that each had then.
    order: VecDeque<(u64, Pair)>,
    /// The number of the pair that was told last.
    last_number: u64,
}

impl Answers {
    /// Remember that a client was told an address for a name, and forget what was told longest ago.
    pub(crate) fn tell(&mut self, client: IpAddr, server: IpAddr, name: &Arc<str>) {
        let pair = (client, server);
        self.last_number += 1;
        self.names.insert(pair, (self.last_number, Arc::clone(name)));
        self.order.push_back((self.last_number, pair));
        while self.order.len() > PAIRS {
            let Some((number, oldest)) = self.order.pop_front() else {
                break;
            };
            if self.names.get(&oldest).is_some_and(|(last, _)| *last == number) {
                self.names.remove(&oldest);
            }
        }
    }

    /// The name for which a client was last told an address.
    pub(crate) fn name(&self, client: IpAddr, server: IpAddr) -> Option<&Arc<str>> {
        self.names.get(&(client, server)).map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_counts_for_its_own_client_and_the_oldest_are_forgotten() {
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let mut answers = Answers::default();
        let [one, other]: [Arc<str>; 2] = ["one.example".into(), "other.example".into()];
        answers.tell(address(1), address(9), &one);
        answers.tell(address(1), address(9), &other);
        assert_eq!(answers.name(address(1), address(9)), Some(&other));
        assert_eq!(answers.name(address(2), address(9)), None);
        for number in 0..u32::try_from(PAIRS).unwrap() - 1 {
            answers.tell(address(3), address(number), &one);
        }
        assert_eq!(answers.name(address(1), address(9)), Some(&other));
        answers.tell(address(4), address(9), &one);
        assert_eq!(answers.name(address(1), address(9)), None);
        assert_eq!((answers.names.len(), answers.order.len()), (PAIRS, PAIRS));
    }
}
