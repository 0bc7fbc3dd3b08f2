//! Gain buckets for 64-bit gains: which vertices could be moved out of which part, best gain first.

/// Bits of a gain, below its highest, by which buckets differ.
const FINE_BITS: u32 = 4;
const FINE: usize = 1 << FINE_BITS;
/// Buckets of positive gains. Gains below 16 have one each; the others share one if they agree in
/// their highest five bits, as in a float, so that a bucket's gains differ by less than 1/16.
const POSITIVE: usize = FINE * (64 - FINE_BITS as usize) - 1;
const COUNT: usize = 2 * POSITIVE + 1;
const WORDS: usize = COUNT.div_ceil(64);

/// End of a list.
const NONE: u32 = u32::MAX;
/// Mark of a vertex that is in no list.
const OUT: u32 = u32::MAX - 1;

/// For each part a row of buckets, each a list of vertices; a vertex is in at most one. All
/// operations take constant time but for the words of a row's bit set, of which there are 30.
pub(super) struct Buckets {
    newest: Vec<u32>,
    /// Which buckets are not empty, and which of these words are not zero.
    filled: Vec<[u64; WORDS]>,
    filled_words: Vec<u32>,
    links: Vec<BucketLink>,
}

#[derive(Clone, Copy)]
struct BucketLink {
    newer: u32,
    older: u32,
    row: u32,
    bucket: u16,
}

impl Buckets {
    pub(super) fn new(vertices: usize, parts: usize) -> Buckets {
        let out = BucketLink {
            newer: OUT,
            older: NONE,
            row: 0,
            bucket: 0,
        };
        Buckets {
            newest: vec![NONE; parts * COUNT],
            filled: vec![[0; WORDS]; parts],
            filled_words: vec![0; parts],
            links: vec![out; vertices],
        }
    }

    pub(super) fn has(&self, vertex: u32) -> bool {
        self.links[vertex as usize].newer != OUT
    }

    /// Puts a vertex, which is in no list, before those of equal gain: the order that is known to
    /// give the better cuts.
    pub(super) fn insert(&mut self, vertex: u32, part: u32, gain: i64) {
        debug_assert!(!self.has(vertex));
        let bucket = bucket(gain);
        let head = &mut self.newest[part as usize * COUNT + bucket];
        let older = std::mem::replace(head, vertex);
        if older != NONE {
            self.links[older as usize].newer = vertex;
        }
        self.links[vertex as usize] = BucketLink {
            newer: NONE,
            older,
            row: part,
            bucket: bucket as u16,
        };
        self.filled[part as usize][bucket / 64] |= 1 << (bucket % 64);
        self.filled_words[part as usize] |= 1 << (bucket / 64);
    }

    /// Takes a vertex out, if it is in.
    pub(super) fn remove(&mut self, vertex: u32) {
        let link = self.links[vertex as usize];
        if link.newer == OUT {
            return;
        }
        self.links[vertex as usize].newer = OUT;
        if link.older != NONE {
            self.links[link.older as usize].newer = link.newer;
        }
        if link.newer != NONE {
            self.links[link.newer as usize].older = link.older;
            return;
        }
        let (row, bucket) = (link.row as usize, usize::from(link.bucket));
        self.newest[row * COUNT + bucket] = link.older;
        if link.older == NONE {
            self.filled[row][bucket / 64] &= !(1 << (bucket % 64));
            if self.filled[row][bucket / 64] == 0 {
                self.filled_words[row] &= !(1 << (bucket / 64));
            }
        }
    }

    /// The newest vertex of a part's best bucket that is not empty, and how good that is.
    pub(super) fn best(&self, part: u32) -> Option<(usize, u32)> {
        let row = part as usize;
        let word = (self.filled_words[row]).checked_ilog2()? as usize;
        let bucket = word * 64 + self.filled[row][word].ilog2() as usize;
        Some((bucket, self.newest[row * COUNT + bucket]))
    }

    /// Takes all vertices out.
    pub(super) fn clear(&mut self) {
        for part in 0..self.filled.len() as u32 {
            while let Some((_, vertex)) = self.best(part) {
                self.remove(vertex);
            }
        }
    }
}

/// Greater gains are in the same bucket or one with a greater number.
pub(super) fn bucket(gain: i64) -> usize {
    let size = gain.unsigned_abs().min(i64::MAX as u64);
    let distance = match size < FINE as u64 {
        true => size as usize,
        false => {
            let shift = size.ilog2() - FINE_BITS;
            FINE * (shift as usize + 1) + ((size >> shift) as usize & (FINE - 1))
        }
    };
    match gain < 0 {
        true => POSITIVE - distance,
        false => POSITIVE + distance,
    }
}

#[cfg(test)]
mod tests {
    use super::{Buckets, COUNT, POSITIVE, bucket};

    #[test]
    fn buckets_are_ordered_as_gains_are_and_small_gains_have_their_own() {
        let sizes = (0..63).flat_map(|bit| [1_i64 << bit, (1 << bit) + 1, (1 << bit) - 1]);
        let mut gains: Vec<i64> = sizes.flat_map(|size| [size, -size]).collect();
        gains.extend([i64::MIN, i64::MAX, 0]);
        gains.sort_unstable();
        for pair in gains.windows(2) {
            assert!(bucket(pair[0]) <= bucket(pair[1]), "{pair:?}");
        }
        for gain in -16..16 {
            assert!(bucket(gain) < bucket(gain + 1), "{gain}");
        }
        assert_eq!(bucket(0), POSITIVE);
        assert_eq!(bucket(i64::MAX), COUNT - 1);
        assert_eq!(bucket(i64::MIN), 0);
    }

    #[test]
    fn gains_in_one_bucket_differ_by_less_than_a_sixteenth() {
        for gain in [100_i64, 1 << 20, (1 << 40) + 12345, 1 << 61] {
            assert!(bucket(gain) < bucket(gain + gain / 15), "{gain}");
        }
    }

    #[test]
    fn the_best_of_a_part_is_the_newest_of_its_best_bucket() {
        let mut buckets = Buckets::new(5, 2);
        buckets.insert(0, 0, 5);
        buckets.insert(1, 0, 7);
        buckets.insert(2, 0, 7);
        buckets.insert(3, 1, -9);
        assert_eq!(buckets.best(0).map(|(_, vertex)| vertex), Some(2));
        buckets.remove(2);
        assert_eq!(buckets.best(0).map(|(_, vertex)| vertex), Some(1));
        buckets.remove(1);
        buckets.insert(1, 0, 4);
        assert_eq!(buckets.best(0).map(|(_, vertex)| vertex), Some(0));
        assert_eq!(buckets.best(1).map(|(_, vertex)| vertex), Some(3));
        buckets.clear();
        assert_eq!(buckets.best(0), None);
        assert!((0..5).all(|vertex| !buckets.has(vertex)));
    }

    #[test]
    fn a_vertex_is_taken_out_of_the_middle_of_a_list() {
        let mut buckets = Buckets::new(3, 1);
        for vertex in 0..3 {
            buckets.insert(vertex, 0, 1);
        }
        buckets.remove(1);
        buckets.remove(1);
        assert_eq!(buckets.best(0).map(|(_, vertex)| vertex), Some(2));
        buckets.remove(2);
        assert_eq!(buckets.best(0).map(|(_, vertex)| vertex), Some(0));
        buckets.remove(0);
        assert_eq!(buckets.best(0), None);
    }
}
