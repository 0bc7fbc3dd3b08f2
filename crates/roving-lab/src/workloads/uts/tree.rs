//! How many children a node has: the tree types of UTS, made into tables of whole numbers.

/// The most children of a node, unless it is the root of a binomial tree.
const CHILDREN_MAX: u32 = 100;
/// Random numbers are below this.
const RANGE: u32 = 1 << 31;
/// Heights that get a table; above, an exponentially decreasing tree computes each node.
const TABLES_MAX: u32 = 4096;

/// `-t`: the type of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// 0: a node has m children with probability q, else none.
    Binomial,
    /// 1: the number of children is distributed geometrically.
    Geometric,
    /// 2: geometric near the root, binomial below.
    Hybrid,
    /// 3: every node above the last level has the same number.
    Balanced,
}

/// `-a`: how the expected number of children of a geometric tree changes with the height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeShape {
    /// 0: falls in a straight line to none at height d.
    Linear,
    /// 1: falls exponentially.
    Exponential,
    /// 2: goes up and down.
    Cyclic,
    /// 3: the same down to height d, then none.
    Fixed,
}

/// A tree of UTS, as its parameters define it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Params {
    /// `-t`
    pub(crate) kind: Type,
    /// `-a`
    pub(crate) shape: TreeShape,
    /// `-b`: children of the root, or expected children.
    pub(crate) b: f64,
    /// `-d`: the height at which a geometric tree ends, or changes.
    pub(crate) d: u32,
    /// `-q`: the probability of children, for a binomial tree.
    pub(crate) q: f64,
    /// `-m`: how many children then.
    pub(crate) m: u32,
    /// `-r`: the seed.
    pub(crate) r: u32,
    /// `-f`: where a hybrid tree turns binomial, as a part of `d`.
    pub(crate) f: f64,
    /// `-g`: how often each hash is computed.
    pub(crate) g: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            kind: Type::Geometric,
            shape: TreeShape::Linear,
            b: 4.0,
            d: 6,
            q: 15.0 / 64.0,
            m: 4,
            r: 0,
            f: 0.5,
            g: 1,
        }
    }
}

impl Params {
    /// Whether the number of children is distributed geometrically, or always the same.
    pub(crate) fn is_geometric(&self) -> bool {
        matches!(self.kind, Type::Geometric | Type::Balanced)
    }

    /// The expected number of children at `height`, in the geometric part.
    fn expected(&self, height: u32) -> f64 {
        let (h, d) = (f64::from(height), f64::from(self.d));
        match self.shape {
            _ if height == 0 => self.b,
            TreeShape::Linear => self.b * (1.0 - h / d),
            TreeShape::Exponential => self.b * h.powf(-self.b.ln() / d.ln()),
            TreeShape::Cyclic if h > 5.0 * d => 0.0,
            TreeShape::Cyclic => self.b.powf((2.0 * std::f64::consts::PI * h / d).sin()),
            TreeShape::Fixed => {
                if height < self.d {
                    self.b
                } else {
                    0.0
                }
            }
        }
    }

    /// The number of children at `height`, as UTS computes it, in the geometric part.
    fn geometric(&self, height: u32, rand: u32) -> u32 {
        geometric(self.expected(height), rand)
    }

    /// From which height on a node is not geometric or balanced any more; none where it always is.
    fn geometric_until(&self) -> Option<u32> {
        match (self.kind, self.shape) {
            (Type::Binomial, _) => Some(0),
            (Type::Balanced, _) => Some(self.d),
            // The height is a whole number, so this is the first one not below f * d.
            (Type::Hybrid, _) => Some((self.f * f64::from(self.d)).ceil() as u32),
            (Type::Geometric, TreeShape::Cyclic) => Some(5 * self.d + 1),
            (Type::Geometric, TreeShape::Exponential) => None,
            (Type::Geometric, TreeShape::Linear | TreeShape::Fixed) => Some(self.d.max(1)),
        }
    }
}

/// Geometric distribution with the expected value `b`, as UTS draws from it.
fn geometric(b: f64, rand: u32) -> u32 {
    let p = 1.0 / (1.0 + b);
    let u = f64::from(rand) / f64::from(RANGE);
    let children = ((1.0 - u).ln() / (1.0 - p).ln()).floor();
    // A `b` of zero or below gives 0, -0 or NaN: no children. The cast does the same.
    (children as u32).min(CHILDREN_MAX)
}

/// A tree ready for the search: no logarithm, no division, no float in it.
#[derive(Debug)]
pub(crate) struct CompiledTree {
    /// The parameters.
    pub(crate) params: Params,
    /// `levels[h]`, all groups in a row: from its k-th random number on, counted from 0, a node at
    /// height h has more than k children.
    levels: Vec<Vec<[u32; GROUP]>>,
    tail: Tail,
}

/// The rule above the heights with a table.
#[derive(Clone, Copy, Debug)]
enum Tail {
    /// `m` children when the random number is below.
    Binomial { below: u32, m: u32 },
    /// Computed anew for each node.
    Geometric,
    /// No children.
    Leaves,
}

impl CompiledTree {
    /// The tables for a tree.
    pub(crate) fn new(params: Params) -> CompiledTree {
        let until = params.geometric_until();
        let heights = until.unwrap_or(TABLES_MAX).min(TABLES_MAX);
        let tail = match (params.kind, until) {
            (Type::Binomial | Type::Hybrid, _) => Tail::Binomial {
                // v / 2^31 < q, for whole v. The product is exact.
                below: (params.q * f64::from(RANGE)).ceil() as u32,
                m: params.m.min(CHILDREN_MAX),
            },
            (_, Some(until)) if until <= TABLES_MAX => Tail::Leaves,
            _ => Tail::Geometric,
        };
        let levels = (0..heights)
            .map(|height| in_groups(&thresholds(&params, height)))
            .collect();
        CompiledTree {
            params,
            levels,
            tail,
        }
    }

    /// The number of children of the root.
    pub(crate) fn children_of_root(&self, rand: u32) -> u32 {
        if self.levels.is_empty() && matches!(self.tail, Tail::Binomial { .. }) {
            return self.params.b.floor() as u32;
        }
        self.children(0, rand)
    }

    /// The number of children of a node at `height`.
    #[inline(always)]
    pub(crate) fn children(&self, height: u32, rand: u32) -> u32 {
        match self.levels.get(height as usize) {
            Some(level) => count(level, rand),
            None => match self.tail {
                Tail::Binomial { below, m } => {
                    if rand < below {
                        m
                    } else {
                        0
                    }
                }
                Tail::Leaves => 0,
                Tail::Geometric => self.params.geometric(height, rand),
            },
        }
    }
}

/// Thresholds that are compared at once.
const GROUP: usize = 16;

/// How many thresholds are not above `rand`. How many children a node has is a throw of dice, so
/// whole groups are compared without a branch; few nodes need a second group.
#[inline(always)]
fn count(groups: &[[u32; GROUP]], rand: u32) -> u32 {
    let mut children = 0;
    for group in groups {
        let reached: u32 = group
            .iter()
            .map(|threshold| u32::from(*threshold <= rand))
            .sum();
        children += reached;
        if reached < GROUP as u32 {
            break;
        }
    }
    children
}

/// Fills up with thresholds that no random number reaches.
fn in_groups(thresholds: &[u32]) -> Vec<[u32; GROUP]> {
    let group = |some: &[u32]| {
        let mut group = [u32::MAX; GROUP];
        group[..some.len()].copy_from_slice(some);
        group
    };
    thresholds.chunks(GROUP).map(group).collect()
}

/// For each number of children, from which random number on there are more: by bisection of
/// UTS's own formula, which never falls as the random number grows.
fn thresholds(params: &Params, height: u32) -> Vec<u32> {
    if params.kind == Type::Balanced {
        return vec![0; params.b.floor().clamp(0.0, f64::from(CHILDREN_MAX)) as usize];
    }
    let mut thresholds = Vec::new();
    for children in 1..=CHILDREN_MAX {
        let (mut low, mut high) = (0, RANGE);
        while low < high {
            let middle = low + (high - low) / 2;
            if params.geometric(height, middle) >= children {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        if low == RANGE {
            break;
        }
        thresholds.push(low);
    }
    thresholds
}

#[cfg(test)]
mod tests {
    use super::super::parse_flags;
    use super::*;

    #[test]
    fn tables_agree_with_the_formula() {
        for flags in [
            "-t1 -a0 -d20 -b4",
            "-t1 -a1 -d10 -b4",
            "-t1 -a2 -d16 -b6",
            "-t1 -a3 -d10 -b30",
        ] {
            let params = parse_flags(flags).unwrap();
            let tree = CompiledTree::new(params);
            let mut state = 1u32;
            for draw in 0..200_000u32 {
                state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                let height = draw % (6 * params.d);
                // Also the ends of the range, where a logarithm is extreme.
                for rand in [state >> 1, draw, RANGE - 1 - draw] {
                    let (table, formula) =
                        (tree.children(height, rand), params.geometric(height, rand));
                    assert_eq!(table, formula, "{flags}, height {height}, rand {rand}");
                }
            }
        }
    }

    #[test]
    fn a_binomial_node_compares_exactly() {
        let tree = CompiledTree::new(parse_flags("-t0 -b2000.7 -q0.25 -m3").unwrap());
        assert_eq!(tree.children_of_root(5), 2000);
        assert_eq!(tree.children(1, RANGE / 4 - 1), 3);
        assert_eq!(tree.children(1, RANGE / 4), 0);
        // One random number in 2^31, and none at all.
        let tree = CompiledTree::new(parse_flags("-t0 -q1e-10").unwrap());
        assert_eq!((tree.children(1, 0), tree.children(1, 1)), (4, 0));
        assert_eq!(
            CompiledTree::new(parse_flags("-t0 -q0").unwrap()).children(1, 0),
            0
        );
    }

    #[test]
    fn children_are_capped_except_at_a_binomial_root() {
        let tree = CompiledTree::new(parse_flags("-t3 -b5000 -d3").unwrap());
        assert_eq!(tree.children_of_root(0), CHILDREN_MAX);
        assert_eq!(tree.children(2, RANGE - 1), CHILDREN_MAX);
        assert_eq!(tree.children(3, 0), 0);
    }
}
