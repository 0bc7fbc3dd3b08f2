//! `substring`: for each place of a string, the longest piece that begins there and also begins
//! somewhere else, and where, by comparing each place with each other. The string is the
//! Fibonacci word, each part of which comes again, so the comparisons are long and uneven.

use roving::task::{Scope, Task};

use super::numbers::{Digest, Judged};
use super::{RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, number_in};

/// The greatest number of a word. It has 832,040 letters.
const ORDER_MAX: u64 = 30;
/// Bytes that are compared at once.
const WORD: usize = size_of::<u64>();

/// The longest other piece like the one at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Match {
    /// Its length.
    length: u32,
    /// Where it begins: the first place of several.
    at: u32,
}

/// All matches of one word.
#[derive(Debug)]
pub(crate) struct Substring {
    order: u32,
    text: Vec<u8>,
    matches: Vec<Match>,
    judged: Judged,
}

/// The words a, b, ba, bab, babba, …: each is the last one and the one before.
fn word(order: u32) -> Vec<u8> {
    let (mut before, mut last) = (b"a".to_vec(), b"b".to_vec());
    for _ in 0..order {
        let next = [&last[..], &before[..]].concat();
        before = std::mem::replace(&mut last, next);
    }
    before
}

/// How far two slices are equal from their beginnings.
#[inline]
fn common(one: &[u8], other: &[u8]) -> usize {
    let (one_words, one_rest) = one.as_chunks::<WORD>();
    let (other_words, other_rest) = other.as_chunks::<WORD>();
    for (place, (one, other)) in one_words.iter().zip(other_words).enumerate() {
        let differ = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differ != 0 {
            return place * WORD + differ.trailing_zeros() as usize / 8;
        }
    }
    // The shorter one may end in the middle of a word of the longer.
    let words = one_words.len().min(other_words.len());
    let from = words * WORD;
    let rest = if one_words.len() <= other_words.len() {
        (one_rest, &other[from..])
    } else {
        (&one[from..], other_rest)
    };
    let equal = rest
        .0
        .iter()
        .zip(rest.1)
        .take_while(|(one, other)| one == other);
    from + equal.count()
}

/// The longest match of the piece at `place`, held against each other place.
fn longest(text: &[u8], place: usize) -> Match {
    let here = &text[place..];
    let mut best = Match::default();
    for at in (0..text.len()).filter(|at| *at != place) {
        let there = &text[at..];
        let length = best.length as usize;
        // A longer match has the next letter, too: most places are left out by this.
        if here.get(length).is_none() || here.get(length) != there.get(length) {
            continue;
        }
        let length = common(here, there) as u32;
        if length > best.length {
            best = Match {
                length,
                at: at as u32,
            };
        }
    }
    best
}

/// The matches of all places from `first` on, each place a task.
fn find<C: ForkJoin>(cx: &mut C, text: &[u8], first: usize, matches: &mut [Match]) {
    if let [one] = matches {
        *one = longest(text, first);
        return;
    }
    let middle = matches.len() / 2;
    let (low, high) = matches.split_at_mut(middle);
    cx.join(
        |cx| find(cx, text, first, low),
        |cx| find(cx, text, first + middle, high),
    );
}

/// Finds the matches as async tasks.
fn find_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    text: &'scope [u8],
    first: usize,
    matches: &'scope mut [Match],
) -> impl Task<()> + 'scope {
    async move {
        if let [one] = matches {
            *one = longest(text, first);
            return;
        }
        let middle = matches.len() / 2;
        let (low, high) = matches.split_at_mut(middle);
        let low = O::branch(scope, find_task::<O>(scope, text, first, low)).await;
        scope
            .call(find_task::<O>(scope, text, first + middle, high))
            .await;
        low.await;
    }
}

/// The lengths of all matches, by another way: a suffix is most like one of its neighbours in the
/// order of all suffixes.
fn lengths_by_suffixes(text: &[u8]) -> Vec<u32> {
    let order = sorted_suffixes(text);
    let mut rank = vec![0; text.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(place, suffix)| rank[*suffix] = place);
    let mut lengths = vec![0; text.len()];
    // What a suffix shares with the one before it, its next suffix shares but for one letter.
    let mut shared = 0usize;
    for suffix in 0..text.len() {
        let Some(before) = rank[suffix].checked_sub(1).map(|rank| order[rank]) else {
            shared = 0;
            continue;
        };
        while text.get(suffix + shared).is_some()
            && text.get(suffix + shared) == text.get(before + shared)
        {
            shared += 1;
        }
        for suffix in [suffix, before] {
            lengths[suffix] = lengths[suffix].max(shared as u32);
        }
        shared = shared.saturating_sub(1);
    }
    lengths
}

/// The places of all suffixes in the order of these, by doubling the length that is looked at.
fn sorted_suffixes(text: &[u8]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..text.len()).collect();
    let mut class: Vec<usize> = text.iter().map(|letter| usize::from(*letter)).collect();
    let mut length = 1;
    loop {
        // The end counts less than any class.
        let key = |class: &[usize], at: usize| (class[at], class.get(at + length).map(|c| c + 1));
        order.sort_unstable_by_key(|at| key(&class, *at));
        let mut next = vec![0; text.len()];
        for pair in order.windows(2) {
            let differ = key(&class, pair[0]) != key(&class, pair[1]);
            next[pair[1]] = next[pair[0]] + usize::from(differ);
        }
        let classes = order.last().map_or(0, |last| next[*last] + 1);
        class = next;
        if classes == text.len() {
            return order;
        }
        length *= 2;
    }
}

impl Substring {
    /// At how many places the match is as long as it can be and begins elsewhere.
    fn places_right(&self) -> u64 {
        let lengths = lengths_by_suffixes(&self.text);
        let places = self.matches.iter().zip(lengths).enumerate();
        let right = places.filter(|(place, (found, length))| {
            let at = found.at as usize;
            let elsewhere = at != *place || *length == 0;
            let piece = |at: usize| self.text.get(at..at + *length as usize);
            elsewhere && found.length == *length && piece(at) == piece(*place)
        });
        right.count() as u64
    }
}

impl Workload for Substring {
    const NAME: &'static str = "substring";
    const ABOUT: &'static str =
        "substring finder: the longest other match for each place of a Fibonacci word";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("20", "the 20th word, 10,946 letters"),
        ("15", "the 15th word, 987 letters"),
        ("22", "the 22nd word, 28,657 letters, as in TBB's example"),
    ];
    const PARAMS: &'static str = "which word, from 1 to 30";
    const ITEMS: &'static str = "pairs of places";
    const FIGURES: &'static [&'static str] = &["places right", "checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let order = number_in("substring input", input, 1..=ORDER_MAX, "take substring 20")?;
        let text = word(order as u32);
        Ok(Substring {
            order: order as u32,
            matches: vec![Match::default(); text.len()],
            text,
            judged: Judged::default(),
        })
    }

    fn input(&self) -> String {
        self.order.to_string()
    }

    fn prepare(&mut self) {
        // No match: what is left from another run is wrong.
        self.matches.fill(Match {
            length: u32::MAX,
            at: 0,
        });
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        find(cx, &self.text, 0, &mut self.matches);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        find_task::<O>(scope, &self.text, 0, &mut self.matches)
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        let mut digest = Digest::default();
        for found in &self.matches {
            digest.word(u64::from(found.length) << 32 | u64::from(found.at));
        }
        self.judged.answer(digest.value(), || [self.places_right()])
    }

    fn demanded(&self) -> Vec<u64> {
        vec![self.text.len() as u64]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        let letters = self.text.len() as u64;
        letters * (letters - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    /// Letter by letter.
    fn plain(text: &[u8]) -> Vec<Match> {
        let at = |place: usize| {
            let mut best = Match::default();
            for at in (0..text.len()).filter(|at| *at != place) {
                let pairs = text[place..].iter().zip(&text[at..]);
                let length = pairs.take_while(|(a, b)| a == b).count() as u32;
                if length > best.length {
                    best = Match {
                        length,
                        at: at as u32,
                    };
                }
            }
            best
        };
        (0..text.len()).map(at).collect()
    }

    #[test]
    fn words_are_those_of_fibonacci() {
        let words: Vec<_> = (0..6)
            .map(|order| String::from_utf8(word(order)).unwrap())
            .collect();
        assert_eq!(words, ["a", "b", "ba", "bab", "babba", "babbabab"]);
        assert_eq!(word(20).len(), 10_946);
        assert_eq!(word(22).len(), 28_657);
    }

    #[test]
    fn matches_are_those_found_letter_by_letter() {
        for order in [1, 2, 3, 5, 9, 12] {
            let mut work = Substring::parse(&order.to_string()).unwrap();
            work.prepare();
            work.run_serial();
            assert_eq!(work.matches, plain(&work.text), "{order}");
            assert_eq!(work.answer().0[0], work.demanded()[0], "{order}");
        }
    }

    #[test]
    fn the_other_way_finds_the_same_lengths_in_any_text() {
        for text in [
            "abracadabra",
            "aaaaaaaaaaaaaaaaaaaaa",
            "abcdefgh",
            "mississippi",
            "z",
        ] {
            let lengths: Vec<u32> = plain(text.as_bytes())
                .iter()
                .map(|one| one.length)
                .collect();
            assert_eq!(lengths_by_suffixes(text.as_bytes()), lengths, "{text}");
        }
    }

    #[test]
    fn a_wrong_match_is_found() {
        let mut work = Substring::parse("12").unwrap();
        work.prepare();
        assert_eq!(work.answer().0[0], 0);
        work.run_serial();
        let right = work.answer();
        for wrong in [
            Match {
                length: 3,
                ..work.matches[40]
            },
            Match {
                at: 40,
                ..work.matches[40]
            },
            Match {
                at: u32::MAX,
                ..work.matches[40]
            },
        ] {
            let was = std::mem::replace(&mut work.matches[40], wrong);
            assert_eq!(work.answer().0[0], right.0[0] - 1, "{wrong:?}");
            work.matches[40] = was;
        }
    }

    #[test]
    fn in_a_pool_and_by_joins() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = Substring::parse("14").unwrap();
        let mut cx = Counting::default();
        work.run(&mut cx);
        assert_eq!(cx.spawns, work.text.len() as u64 - 1);
        let serial = work.answer();
        work.prepare();
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer(), serial);
    }

    #[test]
    fn slices_of_any_length_are_compared() {
        let one = b"0123456789abcdefghijklmnopqrstuv";
        for split in 0..one.len() {
            for end in split..one.len() {
                let mut other = one[..end].to_vec();
                assert_eq!(common(one, &other), end);
                assert_eq!(common(&other, one), end);
                other.push(b'#');
                other[split] = b'#';
                assert_eq!(common(one, &other), split);
            }
        }
    }

    #[test]
    fn words_out_of_range_are_named() {
        for bad in ["0", "31", "-2", "abc"] {
            let error = Substring::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("from 1 to 30"),
                "{error}"
            );
        }
    }
}
