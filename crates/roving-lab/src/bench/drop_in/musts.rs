//! The figures that the drop-in must reach beside stock Rayon.

/// The bounds to reach and to hope for: our time over that of stock.
pub(super) struct Must {
    pub(super) workload: &'static str,
    /// The description for a table.
    pub(super) about: &'static str,
    pub(super) must: f64,
    pub(super) stretch: f64,
}

pub(super) const fn must(
    workload: &'static str,
    about: &'static str,
    must: f64,
    stretch: f64,
) -> Must {
    Must {
        workload,
        about,
        must,
        stretch,
    }
}

pub(super) const MUSTS: [Must; 12] = [
    must("sum-1e3", "par_iter().map().sum(), 1e3 items", 0.7, 0.4),
    must("sum-1e4", "par_iter().map().sum(), 1e4 items", 0.8, 0.6),
    must("sum-1e6", "par_iter().map().sum(), 1e6 items", 1.0, 0.95),
    must("sum-1e8", "par_iter().map().sum(), 1e8 items", 1.0, 1.0),
    must("sort-1e4", "par_sort_unstable, 1e4 u64", 0.9, 0.7),
    must("sort-1e6", "par_sort_unstable, 1e6 u64", 1.0, 0.95),
    must("sort-1e8", "par_sort_unstable, 1e8 u64", 1.0, 0.98),
    must(
        "nested",
        "nested par_iter, 1000 × 1000, tiny body",
        0.7,
        0.4,
    ),
    must("bridge", "par_bridge, uneven items", 1.0, 0.9),
    must("chunks", "par_chunks, uneven items", 1.0, 0.9),
    must("collect", "collect, uneven items", 1.0, 0.9),
    must("fold", "fold/reduce, uneven items", 1.0, 0.9),
];
/// The bounds for the geometric mean over the demonstration programs.
pub(super) const DEMOS: (f64, f64) = (0.95, 0.8);
