//! The random numbers of UTS: each node is a SHA-1 digest, made from its parent's digest and its
//! place among the siblings.

use serde::{Deserialize, Serialize};
use sha1::block_api::compress;

/// A node's digest, as five words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeDigest(pub(super) [u32; 5]);

/// SHA-1's five words before the first block.
pub(super) const INITIAL: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];
/// The bit after the message, as a word.
pub(super) const END: u32 = 0x8000_0000;
/// The length in bits of a child's message: a digest and a number.
pub(super) const CHILD_BITS: u32 = (20 + 4) * 8;

impl NodeDigest {
    /// The root of the tree with this seed.
    pub(crate) fn root(seed: u32) -> NodeDigest {
        let mut words = [0; 16];
        words[4] = seed;
        words[5] = END;
        words[15] = 20 * 8;
        digest(&words)
    }

    /// The random number of this node: 31 bits.
    #[inline(always)]
    pub(crate) fn rand(&self) -> u32 {
        self.0[4] & 0x7fff_ffff
    }
}

/// SHA-1 of one block, given as big-endian words.
fn digest(words: &[u32; 16]) -> NodeDigest {
    let mut block = [0; 64];
    for (bytes, word) in block.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    let mut state = INITIAL;
    compress(&mut state, &[block]);
    NodeDigest(state)
}

/// A way to compute SHA-1 on this machine.
pub(crate) trait Hash: Copy + Send + Sync {
    /// The states of the children `first`, `first + 1`, … of `parent`, as many as `children` has
    /// places. Siblings are made together because their hashes do not depend on each other.
    fn children<N: DigestSink>(self, parent: &NodeDigest, first: u32, children: &mut [N]);
}

/// Where a child's state is put.
pub(crate) trait DigestSink {
    /// Takes the state.
    fn put(&mut self, state: NodeDigest);
}

impl DigestSink for NodeDigest {
    #[inline(always)]
    fn put(&mut self, state: NodeDigest) {
        *self = state;
    }
}

/// SHA-1 by the `sha1` crate, on any machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Hash for Portable {
    fn children<N: DigestSink>(self, parent: &NodeDigest, first: u32, children: &mut [N]) {
        let mut words = [0; 16];
        words[..5].copy_from_slice(&parent.0);
        words[6] = END;
        words[15] = CHILD_BITS;
        for (number, child) in (first..).zip(children) {
            words[5] = number;
            child.put(digest(&words));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Seed, root digest, its random number; from the UTS sources.
    const ROOTS: [(u32, &str, u32); 4] = [
        (
            42,
            "a11dabbcec7aab309c890ab3dbc256eaeb582782",
            1_800_939_394,
        ),
        (
            19,
            "c6988ab70cc9559ae4d6cba254e29a845a85f86b",
            1_518_729_323,
        ),
        (0, "6768033e216468247bd031a0a2d9876d79818f8f", 2_038_534_031),
        (8, "b7e157edabd4108a3b3d1e34742c57cc1be098ed", 467_704_045),
    ];
    /// Seed, digest of the root's first child, its random number.
    const FIRST_CHILDREN: [(u32, &str, u32); 2] = [
        (
            42,
            "7407806c9e18f6e1d4d944809de9c0c94b892757",
            1_267_279_703,
        ),
        (
            19,
            "2fb3131030280c1617a81d6a49c1e29effb19645",
            2_142_344_773,
        ),
    ];

    fn hex(state: &NodeDigest) -> String {
        state.0.iter().map(|word| format!("{word:08x}")).collect()
    }

    #[test]
    fn roots_are_those_of_uts() {
        for (seed, digest, rand) in ROOTS {
            let root = NodeDigest::root(seed);
            assert_eq!((hex(&root).as_str(), root.rand()), (digest, rand));
        }
    }

    #[test]
    fn portable_children_are_those_of_uts() {
        first_children_are_those_of_uts(Portable);
    }

    /// For every way to compute SHA-1.
    pub(in super::super) fn first_children_are_those_of_uts(hash: impl Hash) {
        for (seed, digest, rand) in FIRST_CHILDREN {
            let mut child = [NodeDigest::default()];
            hash.children(&NodeDigest::root(seed), 0, &mut child);
            assert_eq!((hex(&child[0]).as_str(), child[0].rand()), (digest, rand));
        }
    }

    /// For every other way to compute SHA-1: the same as the portable one, for any number of
    /// children.
    #[cfg(target_arch = "x86_64")]
    pub(in super::super) fn same_as_portable(hash: impl Hash) {
        for (first, count) in (0..40).map(|count| (count * 0x0101_0101, count as usize)) {
            let parent = NodeDigest::root(first ^ 7);
            let (mut found, mut want) = ([NodeDigest::default(); 40], [NodeDigest::default(); 40]);
            hash.children(&parent, first, &mut found[..count]);
            Portable.children(&parent, first, &mut want[..count]);
            assert_eq!(found, want, "{count} children from {first}");
        }
    }
}
