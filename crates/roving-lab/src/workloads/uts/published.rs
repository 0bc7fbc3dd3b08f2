//! Trees that others published, and what they hold.

use super::SubtreeCounts;

/// A tree that others published, with what it holds.
pub(super) struct PublishedTree {
    pub(super) name: &'static str,
    pub(super) flags: &'static str,
    pub(super) found: SubtreeCounts,
}

const fn sample(
    name: &'static str,
    flags: &'static str,
    nodes: u64,
    depth: u32,
    leaves: u64,
) -> PublishedTree {
    PublishedTree {
        name,
        flags,
        found: SubtreeCounts {
            nodes,
            leaves,
            depth,
        },
    }
}

/// The sample trees of UTS, and those that StackThreads/MP's paper calls `A` and `B`, of which the
/// first is T3; the second and `BM` are of BOTS.
pub(super) const SAMPLES: &[PublishedTree] = &[
    sample("T1", "-t1 -a3 -d10 -b4 -r19", 4_130_071, 10, 3_305_118),
    sample("T2", "-t1 -a2 -d16 -b6 -r502", 4_117_769, 81, 2_342_762),
    sample(
        "T3",
        "-t0 -b2000 -q0.124875 -m8 -r42",
        4_112_897,
        1572,
        3_599_034,
    ),
    sample(
        "T4",
        "-t2 -a0 -d16 -b6 -r1 -q0.234375 -m4",
        4_132_453,
        134,
        3_108_986,
    ),
    sample("T5", "-t1 -a0 -d20 -b4 -r34", 4_147_582, 20, 2_181_318),
    sample("T1L", "-t1 -a3 -d13 -b4 -r29", 102_181_082, 13, 81_746_377),
    sample("T2L", "-t1 -a2 -d23 -b7 -r220", 96_793_510, 67, 53_791_152),
    sample(
        "T3L",
        "-t0 -b2000 -q0.200014 -m5 -r7",
        111_345_631,
        17_844,
        89_076_904,
    ),
    sample(
        "T1XL",
        "-t1 -a3 -d15 -b4 -r29",
        1_635_119_272,
        15,
        1_308_100_063,
    ),
    sample(
        "T1XXL",
        "-t1 -a3 -d15 -b4 -r19",
        4_230_646_601,
        15,
        3_384_495_738,
    ),
    sample(
        "T3XXL",
        "-t0 -b2000 -q0.499995 -m2 -r316",
        2_793_220_501,
        99_049,
        1_396_611_250,
    ),
    sample(
        "T2XXL",
        "-t0 -b2000 -q0.499999995 -m2 -r0",
        10_612_052_303,
        216_370,
        5_306_027_151,
    ),
    sample(
        "T1WL",
        "-t1 -a3 -d18 -b4 -r19",
        270_751_679_750,
        18,
        216_601_257_283,
    ),
    sample(
        "T2WL",
        "-t0 -b2000 -q0.4999999995 -m2 -r559",
        295_393_891_003,
        1_021_239,
        147_696_946_501,
    ),
    sample(
        "T3WL",
        "-t0 -b2000 -q0.4999995 -m2 -r559",
        157_063_495_159,
        758_577,
        78_531_748_579,
    ),
    sample(
        "A",
        "-t0 -b2000 -q0.124875 -m8 -r42",
        4_112_897,
        1572,
        3_599_034,
    ),
    sample(
        "B",
        "-t0 -b2000 -q0.333332 -m3 -r8",
        30_399_117,
        6974,
        20_266_744,
    ),
    sample(
        "BM",
        "-t0 -b2000 -q0.333344 -m3 -r23",
        1_606_963_542,
        79_868,
        1_071_309_694,
    ),
];
