//! Steps that are parallel iterators: over items that are borrowed and owned, those that end early,
//! sorts, and iterators of the standard library whose items are used in parallel.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use roving_iter::prelude::*;

use super::feature::Feature;
use super::program::FeatureStep;
use super::world::{Bomb, Canary, Cx, PartFate, Ticket, call, part};

/// Items of an iterator.
const ITEMS: usize = 24;
/// The item whose turn does the part.
const WANTED: usize = ITEMS / 2;
/// Items that are sorted: enough for more than one run.
const SORTED: usize = if cfg!(miri) { 60 } else { 900 };

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::Iter => borrowed(step, cx),
        Feature::IterOwned => owned(step, cx),
        Feature::IterEnds => early(step, cx),
        Feature::IterSort => sort(step, cx),
        Feature::IterBridge => bridge(step, cx),
        Feature::IterBomb => bomb(step, cx),
        _ => {}
    }
}

/// The turns of an iterator, of which one does the part.
struct Turns<'a, 'e> {
    step: &'a FeatureStep,
    cx: &'a Cx<'e>,
    seen: PartFate,
    done: [AtomicU32; ITEMS],
    canary: Canary,
}

impl<'a, 'e> Turns<'a, 'e> {
    fn new(step: &'a FeatureStep, cx: &'a Cx<'e>) -> Turns<'a, 'e> {
        Turns {
            step,
            cx,
            seen: PartFate::default(),
            done: [const { AtomicU32::new(0) }; ITEMS],
            canary: Canary::new(),
        }
    }

    /// The turn of an item; its value.
    fn turn(&self, index: usize) -> u64 {
        if index == WANTED {
            self.seen.watch(|| part(self.step, 0, self.cx));
        }
        self.canary.check(self.step, &self.cx.world);
        self.done[index].fetch_add(1, Relaxed);
        index as u64
    }

    /// Complains unless each of these items has had its turn once, and the others none.
    fn check(&self, items: std::ops::Range<usize>) {
        let wrong = (self.done.iter().enumerate())
            .find(|(index, done)| done.load(Relaxed) != u32::from(items.contains(index)));
        if let Some((index, done)) = wrong {
            let text = format!("item {index} had {} turns", done.load(Relaxed));
            self.cx.world.complain(self.step, text);
        }
    }

    fn complain_unless(&self, is_so: bool, what: &str) {
        if !is_so {
            self.cx.world.complain(self.step, what);
        }
    }

    fn call<R>(&self, f: impl FnOnce() -> R) -> R {
        call(self.step, self.cx, &[&self.seen], f)
    }
}

/// The sum of all items.
const SUM: u64 = (ITEMS * (ITEMS - 1) / 2) as u64;

fn borrowed(step: &FeatureStep, cx: &Cx<'_>) {
    let turns = Turns::new(step, cx);
    let turn = |index: usize| turns.turn(index);
    let items: Vec<usize> = (0..ITEMS).collect();
    let sum: u64 = turns.call(|| match step.mode {
        0 => (0..ITEMS).into_par_iter().map(turn).sum(),
        1 => {
            let pairs = items.par_iter().zip(0..ITEMS).with_max_len(1);
            let all: Vec<u64> = pairs.map(|(item, _)| turn(*item)).collect();
            turns.complain_unless(all.is_sorted(), "a vector is out of order");
            all.iter().sum()
        }
        2 => {
            let mut values = [0; ITEMS];
            let each = values.par_iter_mut().enumerate();
            each.for_each(|(index, value)| *value += turn(index));
            values.iter().sum()
        }
        3 => {
            let chunks = items.par_chunks(5);
            chunks
                .flat_map_iter(|chunk| chunk.iter().map(|item| turn(*item)))
                .sum()
        }
        4 => {
            let folded = items.par_iter().fold(|| 0, |sum, item| sum + turn(*item));
            folded.reduce(|| 0, |a, b| a + b)
        }
        5 => {
            let outer = (0..ITEMS / 6).into_par_iter();
            let inner = |row: usize| (0..6_usize).into_par_iter().map(move |one| 6 * row + one);
            outer.flat_map(inner).map(turn).sum()
        }
        6 => {
            let with = |ticket: &mut Ticket, item: usize| {
                let _: &Ticket = ticket;
                turn(item)
            };
            let all = (0..2 * ITEMS).into_par_iter();
            let even = all.filter(|item| item % 2 == 0).map(|item| item / 2);
            even.map_init(|| cx.world.ticket(), with).sum()
        }
        _ => {
            let (even, odd): (Vec<u64>, Vec<u64>) = (0..ITEMS)
                .into_par_iter()
                .rev()
                .map(turn)
                .partition(|value| value % 2 == 0);
            turns.complain_unless(even.len() == odd.len(), "a half is larger than the other");
            even.iter().chain(&odd).sum()
        }
    });
    turns.complain_unless(sum == SUM, "the sum of an iterator is another");
    turns.check(0..ITEMS);
}

/// A value that belongs to the iterator.
struct Item(
    usize,
    #[expect(dead_code, reason = "its drop is counted")] Ticket,
);

fn items(cx: &Cx<'_>) -> Vec<Item> {
    (0..ITEMS)
        .map(|index| Item(index, cx.world.ticket()))
        .collect()
}

/// Each item is dropped once, wherever the iterator ends.
fn owned(step: &FeatureStep, cx: &Cx<'_>) {
    let turns = Turns::new(step, cx);
    let turn = |item: &Item| turns.turn(item.0);
    let mut all = items(cx);
    let kept = turns.call(|| match step.mode {
        0 => {
            all.into_par_iter().for_each(|item| _ = turn(&item));
            0..ITEMS
        }
        1 => {
            all.par_drain(3..ITEMS - 3).for_each(|item| _ = turn(&item));
            turns.complain_unless(all.len() == 6, "a drain left another number");
            3..ITEMS - 3
        }
        2 => {
            let after = |item: Item| {
                turn(&item);
                item
            };
            let all: Vec<Item> = all.into_par_iter().map(after).collect();
            let in_order = all.iter().enumerate().all(|(index, item)| item.0 == index);
            turns.complain_unless(in_order, "a vector is out of order");
            0..ITEMS
        }
        3 => {
            let some = all.into_par_iter().skip(2).take(ITEMS - 4);
            some.for_each(|item| _ = turn(&item));
            2..ITEMS - 2
        }
        4 => {
            let both = all.into_par_iter().zip(items(cx)).chunks(4);
            both.for_each(|chunk| chunk.iter().for_each(|(item, _)| _ = turn(item)));
            0..ITEMS
        }
        _ => {
            let fails = |item: Item| match turn(&item) {
                value if value == WANTED as u64 => Err(item),
                _ => Ok(item),
            };
            let result: Result<Vec<Item>, Item> = all.into_par_iter().map(fails).collect();
            let at = result.err().map(|item| item.0);
            turns.complain_unless(at == Some(WANTED), "another item failed");
            // Which others had their turn is open.
            0..0
        }
    });
    if !kept.is_empty() {
        turns.check(kept);
    }
}

/// An iterator that ends when it has found what it looks for, in the turn that does the part.
fn early(step: &FeatureStep, cx: &Cx<'_>) {
    let turns = Turns::new(step, cx);
    let is_it = |index: usize| turns.turn(index) == WANTED as u64;
    let found = |index: usize| is_it(index).then(|| (index, cx.world.ticket()));
    let all = || (0..ITEMS).into_par_iter();
    let found = turns.call(|| match step.mode {
        0 => all().find_any(|index| is_it(*index)),
        1 => all().find_first(|index| is_it(*index) || *index > WANTED),
        2 => all().find_map_last(found).map(|(index, _)| index),
        3 => all().position_any(is_it),
        4 => {
            let ends = |index: usize| match is_it(index) {
                true => Err((index, cx.world.ticket())),
                false => Ok(()),
            };
            all().try_for_each(ends).err().map(|(index, _)| index)
        }
        5 => all().any(is_it).then_some(WANTED),
        6 => {
            let values = all().map(|index| (!is_it(index)).then(|| cx.world.ticket()));
            let values: Option<Vec<Ticket>> = values.collect();
            values.is_none().then_some(WANTED)
        }
        _ => {
            let sums = all().map(|index| (!is_it(index)).then_some(index));
            let sum = sums.try_reduce(|| 0, |a, b| Some(a + b));
            sum.is_none().then_some(WANTED)
        }
    });
    if found != Some(WANTED) {
        cx.world
            .complain(step, format!("an iterator found {found:?}"));
    }
}

/// The part runs in one comparison, or where one key is made. Whatever comes of it, each value is
/// there once.
fn sort(step: &FeatureStep, cx: &Cx<'_>) {
    let (seen, begun, held) = (PartFate::default(), AtomicBool::new(false), Arc::new(()));
    let once = || {
        if !begun.swap(true, Relaxed) {
            seen.watch(|| part(step, 0, cx));
        }
    };
    let key = |value: &(usize, Arc<()>)| {
        once();
        value.0
    };
    let number = |index: usize| (index * 7919 + 11) % SORTED;
    let mut values: Vec<_> = (0..SORTED)
        .map(|index| (number(index), Arc::clone(&held)))
        .collect();
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        call(step, cx, &[&seen], || match step.mode {
            0 => values.par_sort_by_key(key),
            1 => values.par_sort_unstable_by(|one, other| key(one).cmp(&key(other))),
            2 => values.par_sort_by_cached_key(key),
            _ => values.par_sort_by(|one, other| key(one).cmp(&key(other))),
        });
    }));
    let is_sorted = values.is_sorted_by_key(|value| value.0);
    values.sort_unstable_by_key(|value| value.0);
    let all_once = values.iter().enumerate().all(|(at, value)| value.0 == at);
    if !all_once || (result.is_ok() && !is_sorted) {
        cx.world.complain(step, "a sort has lost the order");
    }
    drop(values);
    if Arc::strong_count(&held) != 1 {
        cx.world
            .complain(step, "a sort has lost or doubled a value");
    }
    result.unwrap_or_else(|payload| panic::resume_unwind(payload));
}

/// An iterator of the standard library; the part runs where it makes an item, or where one is used.
fn bridge(step: &FeatureStep, cx: &Cx<'_>) {
    let turns = Turns::new(step, cx);
    let turn = |index: usize| turns.turn(index);
    let sum: u64 = turns.call(|| match step.mode {
        0 => (0..ITEMS).map(turn).par_bridge().sum(),
        1 => (0..ITEMS).par_bridge().map(turn).sum(),
        2 => {
            let rows = (0..ITEMS / 6).par_bridge();
            let row = |row: usize| (6 * row..6 * row + 6).into_par_iter();
            rows.flat_map(row).map(turn).sum()
        }
        _ => {
            let items = items(cx).into_iter().par_bridge();
            let found = items.find_any(|item| turn(item.0) == WANTED as u64);
            turns.complain_unless(
                found.is_some_and(|item| item.0 == WANTED),
                "a bridge found another",
            );
            SUM
        }
    });
    turns.complain_unless(sum == SUM, "the sum of a bridge is another");
    if step.mode != 3 {
        turns.check(0..ITEMS);
    }
}

/// The drop of one item panics; the others are dropped once all the same.
fn bomb(step: &FeatureStep, cx: &Cx<'_>) {
    struct Armed(
        #[expect(dead_code, reason = "its drop is counted")] Ticket,
        Option<Bomb>,
    );
    let armed = |index: usize| {
        let bomb = (index == WANTED).then(|| Bomb::new(step, cx));
        Armed(cx.world.ticket(), bomb)
    };
    let all: Vec<Armed> = (0..ITEMS).map(armed).collect();
    call(step, cx, &[], || match step.mode {
        0 => all.into_par_iter().for_each(drop),
        // The last ones are no part of it.
        1 => all.into_par_iter().take(3).for_each(drop),
        2 => drop(all.into_par_iter().find_any(|item| item.1.is_some())),
        3 => {
            let all: Vec<Armed> = all.into_par_iter().collect();
            drop(all);
        }
        4 => {
            // Dropped first, so that what is returned is not leaked by this function.
            let first = |one, other| {
                drop(other);
                one
            };
            drop((0..ITEMS).into_par_iter().map(armed).reduce_with(first));
        }
        _ => {
            let none = all.into_par_iter().filter(|_| false);
            none.for_each(drop);
        }
    });
}
