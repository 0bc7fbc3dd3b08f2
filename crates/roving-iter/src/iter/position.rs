//! Where blocks stand, for searches that look for the first item or the last.

use std::cmp;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::engine::Companion;

/// How many units a position has at most. Each `flat_map` around adds one; so does each chain whose
/// first part has too many units to be numbered, as a bridge has.
const LEVELS: usize = 6;

/// The companion that knows where a block stands: at a unit, at a unit of the iterator inside that
/// one, and so on.
///
/// Of two positions that differ in a unit that both have, the one with the greater unit is behind
/// the other. Of others nothing is known: they may be one inside the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitPosition {
    /// The innermost, below `usize::MAX`, which stands for all that cannot be numbered. It has a
    /// field of its own, so that a loop keeps it in a register.
    unit: usize,
    /// Those around, from the outermost to the innermost.
    outer: [usize; LEVELS - 1],
    depth: usize,
    /// All that is behind, or inside, counts as being here.
    is_vague: bool,
}

impl UnitPosition {
    pub(crate) fn start() -> UnitPosition {
        UnitPosition {
            unit: 0,
            outer: [0; LEVELS - 1],
            depth: 0,
            is_vague: false,
        }
    }

    /// The unit so many behind this one, if it can be numbered.
    #[inline]
    fn behind(&self, count: usize) -> Option<usize> {
        let unit = self.unit.checked_add(count);
        unit.filter(|unit| *unit < usize::MAX && !self.is_vague)
    }

    #[inline]
    fn outermost(&self) -> usize {
        match self.depth {
            0 => self.unit,
            _ => self.outer[0],
        }
    }

    fn is_behind(&self, other: &UnitPosition) -> bool {
        let units = |position: &UnitPosition| {
            let mut units = [0; LEVELS];
            units[..position.depth].copy_from_slice(&position.outer[..position.depth]);
            units[position.depth] = position.unit;
            units
        };
        let both = self.depth.min(other.depth);
        units(self)[..=both] > units(other)[..=both]
    }

    /// The position in an order in which the last is the first.
    #[inline]
    pub(crate) fn mirrored(self) -> UnitPosition {
        let mirrored = |unit| (usize::MAX - 1).saturating_sub(unit);
        UnitPosition {
            unit: mirrored(self.unit),
            outer: self.outer.map(mirrored),
            ..self
        }
    }
}

impl Companion for UnitPosition {
    #[inline]
    fn cut(self, at: usize) -> (UnitPosition, UnitPosition) {
        let mut rest = self;
        match self.behind(at) {
            Some(unit) => rest.unit = unit,
            None if self.is_vague => {}
            None => (rest.unit, rest.is_vague) = (usize::MAX, true),
        }
        (self, rest)
    }

    #[inline]
    fn chained(self, span: usize) -> (UnitPosition, UnitPosition) {
        match self.behind(span) {
            Some(unit) => (self, UnitPosition { unit, ..self }),
            // All of the first is inside one unit.
            None => {
                let (mut first, rest) = self.cut(1);
                (first.inside(), rest)
            }
        }
    }

    #[inline]
    fn inside(&mut self) -> UnitPosition {
        let mut inner = *self;
        if self.is_vague || self.depth == LEVELS - 1 {
            inner.is_vague = true;
        } else {
            inner.outer[self.depth] = self.unit;
            inner.depth += 1;
            inner.unit = 0;
        }
        inner
    }
}

/// Where the best item of a search was found so far; a hint, by which what is behind is left out.
pub(crate) struct Nearest {
    /// The first unit of the position. What is at that unit looks at the whole of it.
    outermost: AtomicUsize,
    position: Mutex<Option<UnitPosition>>,
}

impl Nearest {
    pub(crate) fn new() -> Nearest {
        Nearest {
            outermost: AtomicUsize::new(usize::MAX),
            position: Mutex::new(None),
        }
    }
    /// Notes that an item was found there.
    pub(crate) fn note(&self, at: UnitPosition) {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if position.is_none_or(|so_far| so_far.is_behind(&at)) {
            *position = Some(at);
            // Ordering: Relaxed; a hint. Written under the lock, so that it only falls.
            self.outermost.store(at.outermost(), Ordering::Relaxed);
        }
    }

    /// Whether what is there is behind an item that was found.
    #[inline]
    pub(crate) fn is_passed(&self, at: &UnitPosition) -> bool {
        // Ordering: Relaxed; a hint.
        match at.outermost().cmp(&self.outermost.load(Ordering::Relaxed)) {
            cmp::Ordering::Less => false,
            cmp::Ordering::Greater => true,
            cmp::Ordering::Equal => self.is_passed_inside(at),
        }
    }

    #[cold]
    fn is_passed_inside(&self, at: &UnitPosition) -> bool {
        let position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        position.is_some_and(|found| at.is_behind(&found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that are unlike come after each other, and are told apart by a search from either end.
    #[track_caller]
    fn in_order(positions: &[UnitPosition]) {
        for (lower, upper) in (0..positions.len()).flat_map(|n| (0..n).map(move |m| (m, n))) {
            let (lower, upper) = (positions[lower], positions[upper]);
            assert!(
                upper.is_behind(&lower) && !lower.is_behind(&upper),
                "{lower:?} {upper:?}"
            );
            assert!(
                lower.mirrored().is_behind(&upper.mirrored()),
                "{lower:?} {upper:?}"
            );
        }
    }

    #[test]
    fn what_is_cut_off_is_behind() {
        let (mut first, rest) = UnitPosition::start().cut(3);
        let (mut second, third) = rest.cut(1);
        let (a, b) = first.inside().cut(7);
        let (c, d) = second.inside().cut(1_000);
        in_order(&[a, b, c, d, third]);
        // What is inside of one is neither before nor behind it.
        assert!(!a.is_behind(&first) && !first.is_behind(&a));
    }

    #[test]
    fn a_chain_is_in_order_however_long_its_parts_are() {
        let most = usize::MAX;
        let lengths = [[3, 4, 5], [most, 2, 2], [2, most, most], [most; 3]];
        for [a, b, c] in lengths {
            let start = UnitPosition::start;
            // As `a.chain(b).chain(c)` and as `a.chain(b.chain(c))`.
            let (both, third) = start().chained(a.saturating_add(b));
            let (first, second) = both.chained(a);
            let ends = |at: UnitPosition, length| [at, at.cut(length - 1).1];
            in_order(&[ends(first, a), ends(second, b), ends(third, c)].concat());
            let (first, both) = start().chained(a);
            let (second, third) = both.chained(b);
            in_order(&[ends(first, a), ends(second, b), ends(third, c)].concat());
        }
    }

    #[test]
    fn what_cannot_be_numbered_is_neither_before_nor_behind() {
        let most = usize::MAX;
        let (low, end) = UnitPosition::start().cut(most - 1);
        let (a, mut b) = end.cut(1);
        assert!(b.is_behind(&a) && a.is_behind(&low));
        let (c, d) = b.cut(5);
        assert!(!d.is_behind(&c) && !d.is_behind(&b.inside()));
        // Deeper than there are levels.
        let mut deep = UnitPosition::start();
        (0..LEVELS).for_each(|_| deep = deep.inside());
        let (mut e, f) = deep.cut(1);
        assert!(!f.is_behind(&e) && !f.is_behind(&e.inside()));
    }

    #[test]
    fn only_what_is_behind_the_nearest_is_passed() {
        let nearest = Nearest::new();
        let (mut first, rest) = UnitPosition::start().cut(1);
        let (a, b) = first.inside().cut(4);
        assert!(!nearest.is_passed(&rest));
        nearest.note(rest);
        assert!(!nearest.is_passed(&b) && nearest.is_passed(&rest.cut(1).1));
        nearest.note(b);
        assert!(nearest.is_passed(&rest) && !nearest.is_passed(&a) && !nearest.is_passed(&b));
        assert!(nearest.is_passed(&b.cut(1).1));
        nearest.note(rest);
        nearest.note(a);
        assert!(nearest.is_passed(&b) && !nearest.is_passed(&a));
    }
}
