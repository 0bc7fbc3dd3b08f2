//! SHA-1 of one UTS message with the SHA instructions of x86-64.
//!
//! The `sha1` crate uses the same instructions, but takes its blocks as bytes, asks for the CPU's
//! features at every call, and hashes one message at a time: 38 ns a node of the tree T3 instead
//! of 14.
#![allow(unsafe_code)] // a function with target features is called from one without

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_set_epi32, _mm_sha1msg1_epu32, _mm_sha1msg2_epu32,
    _mm_sha1nexte_epu32, _mm_sha1rnds4_epu32, _mm_shuffle_epi32, _mm_storeu_si128, _mm_xor_si128,
};

use super::sha::{CHILD_BITS, DigestSink, END, Hash, INITIAL, NodeDigest};

/// Proof that this machine has the instructions: the only value comes from [`ShaNi::detect`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaNi(());

/// How many siblings are computed in step. One hash is a chain of dependent instructions, each
/// four cycles long; a second one fits into the gaps.
const LANES: usize = 2;

impl ShaNi {
    /// The proof, on a machine that has the instructions. Ask once, not in a loop.
    pub(crate) fn detect() -> Option<ShaNi> {
        let found = is_x86_feature_detected!("sha")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1");
        found.then_some(ShaNi(()))
    }
}

impl Hash for ShaNi {
    #[inline(always)]
    fn children<N: DigestSink>(self, parent: &NodeDigest, first: u32, children: &mut [N]) {
        // SAFETY: `self` exists, so `detect` found all three features.
        unsafe { siblings(parent, first, children) }
    }
}

/// All of `children`, in groups of [`LANES`].
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn siblings<N: DigestSink>(parent: &NodeDigest, first: u32, children: &mut [N]) {
    let mut number = first;
    let mut groups = children.chunks_exact_mut(LANES);
    for group in &mut groups {
        let states = digests::<LANES>(parent, number);
        for (child, state) in group.iter_mut().zip(states) {
            child.put(state);
        }
        number = number.wrapping_add(LANES as u32);
    }
    for child in groups.into_remainder() {
        child.put(digests::<1>(parent, number)[0]);
        number = number.wrapping_add(1);
    }
}

/// The running hashes of `L` siblings.
#[derive(Clone, Copy)]
struct HashRounds<const L: usize> {
    /// The words a, b, c, d.
    abcd: [__m128i; L],
    /// The words before the last four rounds: the next word e comes from them.
    before: [__m128i; L],
    /// The last sixteen words of the message schedule, oldest first.
    words: [[__m128i; 4]; L],
}

impl<const L: usize> HashRounds<L> {
    /// Rounds `4 * step .. 4 * step + 4` for `step` of 1 or more, of the kind `F`.
    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn step<const F: i32>(&mut self, step: usize) {
        for lane in 0..L {
            let words = &mut self.words[lane];
            let next = if step < 4 {
                words[step]
            } else {
                let [w0, w1, w2, w3] = *words;
                let next = _mm_xor_si128(_mm_sha1msg1_epu32(w0, w1), w2);
                let next = _mm_sha1msg2_epu32(next, w3);
                *words = [w1, w2, w3, next];
                next
            };
            let e = _mm_sha1nexte_epu32(self.before[lane], next);
            self.before[lane] = self.abcd[lane];
            self.abcd[lane] = _mm_sha1rnds4_epu32::<F>(self.abcd[lane], e);
        }
    }
}

/// The digests of the children `first .. first + L` of `parent`.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn digests<const L: usize>(parent: &NodeDigest, first: u32) -> [NodeDigest; L] {
    let [a, b, c, d, e] = parent.0.map(u32::cast_signed);
    let [a0, b0, c0, d0, e0] = INITIAL.map(u32::cast_signed);
    // The instructions want the earliest word in the highest place.
    let initial = _mm_set_epi32(a0, b0, c0, d0);
    let zero = _mm_set_epi32(0, 0, 0, 0);
    let parent_words = _mm_set_epi32(a, b, c, d);
    // The first four rounds see only the parent: the same for all siblings.
    let first_e = _mm_add_epi32(_mm_set_epi32(e0, 0, 0, 0), parent_words);
    let after_four = _mm_sha1rnds4_epu32::<0>(initial, first_e);
    let length = _mm_set_epi32(0, 0, 0, CHILD_BITS.cast_signed());
    let mut rounds = HashRounds::<L> {
        abcd: [after_four; L],
        before: [initial; L],
        words: [[parent_words, zero, zero, length]; L],
    };
    for (lane, words) in rounds.words.iter_mut().enumerate() {
        let number = first.wrapping_add(lane as u32).cast_signed();
        words[1] = _mm_set_epi32(e, number, END.cast_signed(), 0);
    }
    all_steps(&mut rounds);
    let mut states = [NodeDigest::default(); L];
    for (lane, state) in states.iter_mut().enumerate() {
        // The last word is the rotated `a` from before the last four rounds.
        let last = _mm_sha1nexte_epu32(rounds.before[lane], _mm_set_epi32(e0, 0, 0, 0));
        let words = _mm_shuffle_epi32::<0b00_01_10_11>(_mm_add_epi32(rounds.abcd[lane], initial));
        let mut lanes = [0u32; 4];
        // SAFETY: `lanes` has the 16 bytes that are written; the store needs no alignment.
        unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), words) };
        state.0[..4].copy_from_slice(&lanes);
        state.0[4] = std::arch::x86_64::_mm_extract_epi32::<3>(last).cast_unsigned();
    }
    states
}

/// Rounds 4 to 79.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn all_steps<const L: usize>(rounds: &mut HashRounds<L>) {
    for step in 1..5 {
        rounds.step::<0>(step);
    }
    for step in 5..10 {
        rounds.step::<1>(step);
    }
    for step in 10..15 {
        rounds.step::<2>(step);
    }
    for step in 15..20 {
        rounds.step::<3>(step);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sha::tests;
    use super::*;

    #[test]
    fn children_are_those_of_uts_and_of_the_portable_hash() {
        // On a machine without the instructions there is nothing to hold against anything.
        if let Some(hash) = ShaNi::detect() {
            tests::first_children_are_those_of_uts(hash);
            tests::same_as_portable(hash);
        }
    }
}
