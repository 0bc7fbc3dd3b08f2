//! Whom a rank without tasks asks.
//!
//! First a few ranks at random. Then its *lifelines*, which remember that it asked and send it half
//! of what they have once they have something. Rank r's lifelines are the ranks 1, 2, 4, … further
//! on: few, and by them work reaches every rank from every other in as many steps as the number of
//! ranks has bits. `roving-model` asks the same functions, also with other numbers.

use crate::world::random::Random;

/// Random ranks asked before the lifelines.
pub const ATTEMPTS: usize = 2;
/// How many times as far each lifeline is as the one before.
pub const BASE: usize = 2;

/// Whom one rank asks, in which order.
#[derive(Clone, Debug)]
pub struct Victims {
    rank: usize,
    ranks: usize,
    random: Random,
    attempts: usize,
    attempts_left: usize,
}

impl Victims {
    /// For a rank that asks so many others before its lifelines.
    pub fn new(rank: usize, ranks: usize, attempts: usize) -> Victims {
        let attempts = attempts.min(ranks - 1);
        Victims {
            rank,
            ranks,
            random: Random::new(0x11fe, rank),
            attempts,
            attempts_left: attempts,
        }
    }

    /// It has tasks again.
    pub fn restart(&mut self) {
        self.attempts_left = self.attempts;
    }

    /// A rank to ask next; none when it is the lifelines' turn.
    #[allow(
        clippy::should_implement_trait,
        reason = "what comes next changes by restarts"
    )]
    pub fn next(&mut self) -> Option<usize> {
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        let other = self.random.below(self.ranks as u64 - 1) as usize;
        Some(other + usize::from(other >= self.rank))
    }
}

/// The lifelines of `rank`, each so many times as far as the one before.
pub fn lifelines(rank: usize, ranks: usize, base: usize) -> Vec<usize> {
    let steps = std::iter::successors(Some(1_usize), |step| step.checked_mul(base));
    let steps = steps.take_while(|step| *step < ranks);
    steps.map(|step| (rank + step) % ranks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifelines_reach_every_rank_in_few_steps() {
        for ranks in 1..40 {
            for rank in 0..ranks {
                let own = lifelines(rank, ranks, BASE);
                assert!(!own.contains(&rank), "{own:?}");
                let mut reached = vec![rank];
                let mut steps = 0;
                while reached.len() < ranks {
                    let next: Vec<usize> = reached
                        .iter()
                        .flat_map(|from| lifelines(*from, ranks, BASE))
                        .collect();
                    reached.extend(next);
                    reached.sort_unstable();
                    reached.dedup();
                    steps += 1;
                }
                assert!(
                    steps <= usize::BITS - (ranks - 1).leading_zeros(),
                    "{ranks}"
                );
            }
        }
    }

    #[test]
    fn a_rank_asks_others_and_all_of_them() {
        let mut asked = [0; 5];
        let mut victims = Victims::new(2, 5, ATTEMPTS);
        for _ in 0..100 {
            victims.restart();
            while let Some(victim) = victims.next() {
                asked[victim] += 1;
            }
        }
        assert_eq!(asked[2], 0);
        assert!(
            asked.iter().filter(|count| **count > 0).count() == 4,
            "{asked:?}"
        );
    }

    #[test]
    fn alone_there_is_nobody_to_ask() {
        assert_eq!(Victims::new(0, 1, ATTEMPTS).next(), None);
        assert!(lifelines(0, 1, BASE).is_empty());
    }
}
