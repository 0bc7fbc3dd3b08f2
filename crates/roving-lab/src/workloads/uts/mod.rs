//! `uts`: the Unbalanced Tree Search benchmark. The tree is not in memory; every node is computed
//! from its parent by SHA-1, and nobody can say beforehand where the work is.

mod published;
mod sha;
#[cfg(target_arch = "x86_64")]
mod sha_ni;
mod task;
mod tree;
mod visit;

use std::hint::black_box;

use roving::task::{Scope, Task};

use super::{Evidence, RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::BadInput;
use published::{PublishedTree, SAMPLES};
pub(crate) use sha::{DigestSink, Hash, NodeDigest, Portable};
#[cfg(target_arch = "x86_64")]
pub(crate) use sha_ni::ShaNi;
pub(crate) use tree::{CompiledTree, Params};
use tree::{TreeShape, Type};
pub(crate) use visit::{SubtreeCounts, TOGETHER, TreeSearch, UtsNode};

/// Native stack for one level of the tree, on a thread that also leapfrogs. About 500 bytes are
/// used with optimisation.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 8192 } else { 2048 };
/// The least and the most native stack. Most of it is never touched.
const STACK_BYTES: std::ops::RangeInclusive<usize> = (16 << 20)..=(2 << 30);
/// The height that a tree with unknown depth gets a stack for. Deeper ones are searched right all
/// the same, without tasks from there on.
const UNKNOWN_DEPTH: u32 = 1 << 18;

/// The most children that a binomial node may have on average. With more than 1 most trees are
/// endless; T3L is one that ends.
const EXPECTED_MAX: f64 = 1.001;

/// A search for everything in one tree.
#[derive(Debug)]
pub(crate) struct Uts {
    input: String,
    tree: CompiledTree,
    published: Option<SubtreeCounts>,
    found: SubtreeCounts,
    /// Portable SHA-1 even where the CPU has instructions for it.
    portable: bool,
    /// A task for each node, instead of one for siblings that are computed together.
    each: bool,
}

impl Uts {
    /// The tree's parameters, and whether the CPU's instructions for SHA-1 are left unused.
    pub(crate) fn params(&self) -> (Params, bool) {
        (self.tree.params, self.portable)
    }

    /// Whether there is a task for each node, instead of one for siblings computed together.
    pub(crate) fn has_task_per_node(&self) -> bool {
        self.each
    }

    /// The tree, and whether the CPU's instructions for SHA-1 are left unused.
    pub(crate) fn tree(&self) -> (&CompiledTree, bool) {
        (&self.tree, self.portable)
    }

    /// How many levels the native stack is made for.
    fn depth(&self) -> u32 {
        match (self.published, self.tree.params.kind) {
            (Some(found), _) => found.depth,
            (None, Type::Balanced) => self.tree.params.d,
            (None, _) => UNKNOWN_DEPTH,
        }
    }

    /// The hash is chosen here, once, and is a type from here on.
    #[inline(never)]
    fn search<C: ForkJoin>(&self, cx: &mut C) -> SubtreeCounts {
        #[cfg(target_arch = "x86_64")]
        if let (false, Some(hash)) = (self.portable, ShaNi::detect()) {
            return self.search_with(hash, cx);
        }
        self.search_with(Portable, cx)
    }

    fn search_with<H: Hash, C: ForkJoin>(&self, hash: H, cx: &mut C) -> SubtreeCounts {
        let recursion_max = self.stack_bytes() / LEVEL_BYTES;
        let search = TreeSearch::new(black_box(&self.tree), hash, recursion_max as u32);
        match self.each {
            true => search.run_each(cx),
            false => search.run(cx),
        }
    }
}

impl Workload for Uts {
    const NAME: &'static str = "uts";
    const ABOUT: &'static str = "Unbalanced Tree Search: count the nodes of a tree made by SHA-1";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("T3", "binomial, 4,112,897 nodes, depth 1,572"),
        ("T1", "geometric, fixed, 4,130,071 nodes, depth 10"),
        ("T2", "geometric, cyclic, 4,117,769 nodes, depth 81"),
        ("T4", "hybrid, 4,132,453 nodes, depth 134"),
        ("T5", "geometric, linear, 4,147,582 nodes, depth 20"),
        ("T1L", "geometric, fixed, 102,181,082 nodes, depth 13"),
        ("T2L", "geometric, cyclic, 96,793,510 nodes, depth 67"),
        ("T3L", "binomial, 111,345,631 nodes, depth 17,844"),
        ("T1XL", "geometric, fixed, 1,635,119,272 nodes, depth 15"),
        ("T1XXL", "geometric, fixed, 4,230,646,601 nodes, depth 15"),
        ("T3XXL", "binomial, 2,793,220,501 nodes, depth 99,049"),
        ("T2XXL", "binomial, 10,612,052,303 nodes, depth 216,370"),
        ("T1WL", "geometric, fixed, 270,751,679,750 nodes, depth 18"),
        ("T2WL", "binomial, 295,393,891,003 nodes, depth 1,021,239"),
        ("T3WL", "binomial, 157,063,495,159 nodes, depth 758,577"),
        (
            "A",
            "T3, as in StackThreads/MP's paper: 4,112,897 nodes, depth 1,572",
        ),
        (
            "B",
            "binomial, as in the paper, and BOTS' tiny input: 30,399,117 nodes, depth 6,974",
        ),
        (
            "BM",
            "binomial, BOTS medium, 1,606,963,542 nodes, depth 79,868",
        ),
    ];
    const PARAMS: &'static str = "UTS's own, as \"-t1 -a3 -d10 -b4 -r19\": -t 0..3, -a 0..3, -b, -d, \
                                  -q, -m, -r, -f, -g; a `portable` before a name or parameters \
                                  computes SHA-1 without instructions for it, and an `each` makes \
                                  a task of each node, by closures and as async tasks";
    const ITEMS: &'static str = "nodes";
    const FIGURES: &'static [&'static str] = &["nodes", "depth", "leaves"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let (mut portable, mut each, mut tree) = (false, false, input.trim());
        while let Some((word, rest)) = tree.split_once(' ') {
            match word {
                "portable" => portable = true,
                "each" => each = true,
                _ => break,
            }
            tree = rest.trim();
        }
        let named = SAMPLES
            .iter()
            .find(|sample| sample.name.eq_ignore_ascii_case(tree));
        let params = parse_flags(named.map_or(tree, |sample| sample.flags))?;
        let same =
            |sample: &&PublishedTree| parse_flags(sample.flags).is_ok_and(|known| known == params);
        let sample = named.or_else(|| SAMPLES.iter().find(same));
        let name = named.map_or(tree, |sample| sample.name);
        Ok(Uts {
            input: format!(
                "{}{}{name}",
                if portable { "portable " } else { "" },
                if each { "each " } else { "" }
            ),
            tree: CompiledTree::new(params),
            published: sample.map(|sample| sample.found),
            found: SubtreeCounts::default(),
            portable,
            each,
        })
    }

    fn input(&self) -> String {
        self.input.clone()
    }

    fn stack_bytes(&self) -> usize {
        let most = usize::try_from(isize::MAX).unwrap_or(usize::MAX) / 8;
        let wanted = LEVEL_BYTES.saturating_mul(self.depth() as usize + 256);
        wanted.clamp(*STACK_BYTES.start(), (*STACK_BYTES.end()).min(most))
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        self.found = self.search(cx);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let how = (self.portable, self.each);
            self.found = search_task::<O>(scope, &self.tree, how).await;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        answer(&self.found)
    }

    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        self.published
            .map(|found| (answer(&found), Evidence::Published))
    }

    fn items(&self, answer: &RunAnswer) -> u64 {
        answer.0[0]
    }
}

/// The search as async tasks, with the hash that the search by closures takes. Tasks keep their
/// own frames, so it may be as deep as the tree.
fn search_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    tree: &'scope CompiledTree,
    (portable, each): (bool, bool),
) -> impl Task<SubtreeCounts> + 'scope {
    async move {
        let tree = black_box(tree);
        #[cfg(target_arch = "x86_64")]
        if let (false, Some(hash)) = (portable, ShaNi::detect()) {
            let search = TreeSearch::new(tree, hash, u32::MAX);
            return search_with::<O, ShaNi>(scope, search, each).await;
        }
        let _ = portable; // elsewhere there is no choice
        search_with::<O, Portable>(scope, TreeSearch::new(tree, Portable, u32::MAX), each).await
    }
}

/// A search as async tasks, with or without a task for each node.
async fn search_with<'scope, O: BranchOrder, H: Hash + 'scope>(
    scope: Scope<'scope>,
    search: TreeSearch<'scope, H>,
    each: bool,
) -> SubtreeCounts {
    match each {
        true => task::search_each::<O, H>(scope, search).await,
        false => task::search::<O, H>(scope, search).await,
    }
}

/// A search's answer as other workloads give theirs.
pub(crate) fn answer(found: &SubtreeCounts) -> RunAnswer {
    RunAnswer([found.nodes, u64::from(found.depth), found.leaves])
}

/// Reads parameters as UTS's own command line has them.
fn parse_flags(flags: &str) -> Result<Params, BadInput> {
    let mut params = Params::default();
    let mut words = flags.split_whitespace();
    while let Some(word) = words.next() {
        let (flag, value) = match word.char_indices().nth(2) {
            Some((value, _)) if word.is_char_boundary(2) => word.split_at(value),
            _ => (word, words.next().unwrap_or("")),
        };
        set_flag(&mut params, flag, value).map_err(|allowed| {
            let subject = format!("uts parameter {flag}");
            BadInput::new(
                subject,
                value,
                allowed,
                "`roving list` shows the trees with a name",
            )
        })?;
    }
    let expected = params.q * f64::from(params.m);
    if matches!(params.kind, Type::Binomial | Type::Hybrid) && expected > EXPECTED_MAX {
        let allowed = format!("q times m of {EXPECTED_MAX} at most: such a tree never ends");
        return Err(BadInput::new(
            "uts -q times -m",
            expected,
            allowed,
            "take a smaller -q",
        ));
    }
    Ok(params)
}

/// Sets one parameter, or says what is allowed.
fn set_flag(params: &mut Params, flag: &str, value: &str) -> Result<(), &'static str> {
    let whole = |range: std::ops::RangeInclusive<u32>, allowed| {
        value
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or(allowed)
    };
    let real = |range: std::ops::RangeInclusive<f64>, allowed| {
        value
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or(allowed)
    };
    match flag {
        "-t" => {
            params.kind = match value {
                "0" => Type::Binomial,
                "1" => Type::Geometric,
                "2" => Type::Hybrid,
                "3" => Type::Balanced,
                _ => return Err("0 binomial, 1 geometric, 2 hybrid or 3 balanced"),
            }
        }
        "-a" => {
            params.shape = match value {
                "0" => TreeShape::Linear,
                "1" => TreeShape::Exponential,
                "2" => TreeShape::Cyclic,
                "3" => TreeShape::Fixed,
                _ => return Err("0 linear, 1 exponential, 2 cyclic or 3 fixed"),
            }
        }
        "-b" => params.b = real(0.0..=1e9, "a number from 0 to 1e9")?,
        "-d" => params.d = whole(1..=4096, "a whole number from 1 to 4096")?,
        "-q" => params.q = real(0.0..=1.0, "a probability from 0 to 1")?,
        "-m" => params.m = whole(0..=100, "a whole number from 0 to 100")?,
        "-r" => params.r = whole(0..=0x7fff_ffff, "a whole number from 0 to 2147483647")?,
        "-f" => params.f = real(0.0..=1.0, "a part from 0 to 1")?,
        "-g" => params.g = whole(1..=1_000_000, "a whole number from 1 to 1000000")?,
        _ => return Err("a tree's name or one of -t -a -b -d -q -m -r -f -g"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    /// Small trees with nodes, leaves and depth, found by another program.
    const SMALL: [(&str, [u64; 3]); 7] = [
        ("-t0 -b100 -q0.2 -m4 -r0", [489, 391, 13]),
        ("-t0 -b100 -q0.124875 -m8 -r42", [6797, 5959, 67]),
        ("-t1 -a3 -d5 -b4 -r19", [3987, 3232, 5]),
        ("-t1 -a0 -d10 -b4 -r34", [5577, 3111, 10]),
        ("-t1 -a2 -d8 -b4 -r502", [6244, 3652, 41]),
        ("-t1 -a1 -d10 -b4 -r34", [5880, 2977, 27]),
        ("-t2 -a0 -d8 -b4 -r1 -q0.2 -m4", [1179, 877, 22]),
    ];

    #[test]
    fn small_trees_hold_what_another_program_found() {
        for (flags, [nodes, leaves, depth]) in SMALL {
            for how in ["", "portable ", "each ", "portable each "] {
                let input = format!("{how}{flags}");
                let mut work = Uts::parse(&input).unwrap();
                assert_eq!(work.input(), input);
                work.run_serial();
                assert_eq!(work.answer(), RunAnswer([nodes, depth, leaves]), "{input}");
                work.run(&mut Counting::default());
                assert_eq!(work.answer(), RunAnswer([nodes, depth, leaves]), "{input}");
            }
        }
    }

    #[test]
    fn small_trees_in_a_pool() {
        let pool = roving::Pool::builder()
            .workers(3)
            .stack_size(64 << 20)
            .build()
            .unwrap();
        for (flags, [nodes, leaves, depth]) in SMALL {
            for input in [flags.to_string(), format!("each {flags}")] {
                let mut work = Uts::parse(&input).unwrap();
                pool.install(|| work.run(&mut Roving));
                assert_eq!(work.answer(), RunAnswer([nodes, depth, leaves]), "{input}");
                work.found = SubtreeCounts::default();
                pool.run(|scope| work.task::<crate::forms::tasks::WorkFirst>(scope));
                assert_eq!(work.answer(), RunAnswer([nodes, depth, leaves]), "{input}");
            }
        }
    }

    #[test]
    fn a_balanced_tree_is_a_geometric_series() {
        let mut work = Uts::parse("-t3 -b3 -d7").unwrap();
        work.run_serial();
        let nodes = (0..=7).map(|height| 3u64.pow(height)).sum();
        assert_eq!(work.answer(), RunAnswer([nodes, 7, 3u64.pow(7)]));
    }

    #[test]
    fn a_root_alone_is_a_leaf() {
        let mut work = Uts::parse("-t0 -b0").unwrap();
        work.run_serial();
        assert_eq!(work.answer(), RunAnswer([1, 0, 1]));
    }

    #[test]
    fn repeated_hashes_change_nothing() {
        let mut work = Uts::parse("-t0 -b100 -q0.2 -m4 -r0 -g3").unwrap();
        work.run_serial();
        assert_eq!(work.answer(), RunAnswer([489, 13, 391]));
    }

    #[test]
    fn samples_are_found_by_name_and_by_parameters_and_listed() {
        assert_eq!(SAMPLES.len(), Uts::INPUTS.len());
        for (name, about) in Uts::INPUTS {
            let work = Uts::parse(name).unwrap();
            let (answer, evidence) = work.expected().unwrap();
            assert_eq!(evidence, Evidence::Published);
            let [nodes, depth, _] = answer.0.map(crate::io::input::grouped);
            assert!(
                about.contains(&format!("{nodes} nodes, depth {depth}")),
                "{about}"
            );
        }
        let by_flags = Uts::parse("-t 0 -b 2000 -q 0.124875 -m 8 -r 42").unwrap();
        assert_eq!(by_flags.expected(), Uts::parse("t3").unwrap().expected());
        assert_eq!(
            Uts::parse("-t0 -b2000 -q0.124875 -m8 -r43")
                .unwrap()
                .expected(),
            None
        );
    }

    #[test]
    fn deep_trees_get_deep_stacks() {
        for (name, depth) in [("T3XXL", 99_049), ("T2WL", 1_021_239)] {
            let work = Uts::parse(name).unwrap();
            let levels = work.stack_bytes() / LEVEL_BYTES;
            assert!(levels > depth || cfg!(any(target_pointer_width = "32", debug_assertions)));
        }
        assert!(Uts::parse("T1").unwrap().stack_bytes() <= 16 << 20);
    }

    /// 64 chains of some 10,000 nodes each.
    const CHAINS: &str = "-t0 -b64 -q0.9999 -m1 -r5";

    #[test]
    fn deep_trees_do_not_overflow() {
        let pool = roving::Pool::builder();
        let mut work = Uts::parse(CHAINS).unwrap();
        let pool = pool
            .workers(2)
            .stack_size(work.stack_bytes())
            .build()
            .unwrap();
        pool.install(|| work.run(&mut Roving));
        let [nodes, depth, leaves] = work.answer().0;
        assert!(
            nodes > 300_000 && depth > 20_000 && leaves == 64,
            "{:?}",
            work.answer()
        );
        // The same without recursion, on this test's ordinary stack.
        let found = TreeSearch::new(&work.tree, Portable, 0).run(&mut Serial);
        assert_eq!(work.answer(), answer(&found));
        // And with a stack that is deep enough for a part only.
        let found = TreeSearch::new(&work.tree, Portable, 50).run(&mut Serial);
        assert_eq!(work.answer(), answer(&found));
        let found = TreeSearch::new(&work.tree, Portable, 50).run_each(&mut Serial);
        assert_eq!(work.answer(), answer(&found));
    }

    #[test]
    fn bad_parameters_are_named() {
        for (input, named) in [
            ("T9", "T9"),
            ("-t4", "-t `4`"),
            ("-q1.5", "-q `1.5`"),
            ("-q", "-q ``"),
            ("-d0", "-d `0`"),
            ("-t0 -q0.5 -m3", "`1.5`"),
            ("-bNaN", "-b `NaN`"),
            ("-x3", "-x `3`"),
            ("é", "é"),
            ("-é3", "-é"),
        ] {
            let error = Uts::parse(input).unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
    }
}
