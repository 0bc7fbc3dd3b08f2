//! `sparselu`: L · U = A for a matrix of blocks, most of which are zero, as in BOTS: the same
//! pattern of blocks, doubles for floats, and numbers of our own, whose diagonal is heavy, so that
//! rows need not be exchanged and the error has a bound.
//!
//! Each step factors one block of the diagonal, then solves for the blocks beside and below it,
//! then updates what lies beside and below those. All blocks of a step are independent.

use roving::task::{Forked, Scope, Task};

use super::numbers::{Digest, Judged, Noise, ROUNDING, within};
use super::{RunAnswer, Workload, dense, triangular};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, whole_number};
use crate::machine::memory;

/// The most blocks in a row, and the greatest side of a block.
const BLOCKS_MAX: u64 = 400;
const SIDE_MAX: u64 = 1000;
/// Vectors of the check.
const CHECKS: usize = 2;

/// A block stored by rows; none where it is zero.
type Block = Option<Box<[f64]>>;
/// A matrix by rows of blocks.
type Matrix = Vec<Vec<Block>>;

/// The blocks that one step of the factorisation touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FactorStep {
    /// The blocks beside that of the diagonal, by their columns.
    beside: Vec<usize>,
    /// The blocks below it, by their rows.
    below: Vec<usize>,
}

/// L and U, in one matrix.
#[derive(Debug)]
pub(crate) struct SparseLu {
    blocks: usize,
    side: usize,
    steps: Vec<FactorStep>,
    original: Matrix,
    matrix: Matrix,
    judged: Judged,
}

/// Whether BOTS' matrix has this block.
fn is_present(row: usize, column: usize) -> bool {
    let both_even = row.is_multiple_of(2) && column.is_multiple_of(2);
    row.abs_diff(column) <= 1 || both_even && row.min(column).is_multiple_of(3)
}

/// Plans the blocks of all steps, with those that become non-zero on the way.
fn plan(blocks: usize) -> Vec<FactorStep> {
    let mut present: Vec<Vec<bool>> = (0..blocks)
        .map(|row| (0..blocks).map(|column| is_present(row, column)).collect())
        .collect();
    let step = |step: usize| {
        let after = || step + 1..blocks;
        let beside: Vec<usize> = after().filter(|column| present[step][*column]).collect();
        let below: Vec<usize> = after().filter(|row| present[*row][step]).collect();
        for row in &below {
            beside
                .iter()
                .for_each(|column| present[*row][*column] = true);
        }
        FactorStep { beside, below }
    };
    (0..blocks).map(step).collect()
}

/// How many blocks there are once all steps are done.
fn filled(steps: &[FactorStep]) -> usize {
    let step = |step: &FactorStep| 1 + step.beside.len() + step.below.len();
    steps.iter().map(step).sum()
}

/// How many blocks are factored, solved for, or updated.
fn operations(steps: &[FactorStep]) -> usize {
    let updates = |step: &FactorStep| step.beside.len() * step.below.len();
    filled(steps) + steps.iter().map(updates).sum::<usize>()
}

/// The matrix that is factored.
fn matrix(blocks: usize, side: usize) -> Matrix {
    let mut noise = Noise::new(11);
    let row = |row: usize| -> Vec<Block> {
        let present = (0..blocks)
            .filter(|column| is_present(row, *column))
            .count();
        let block = |column: usize| {
            let mut block = is_present(row, column).then(|| noise.units(side * side))?;
            if row == column {
                // More than all other numbers of the row together.
                let heavy = block.iter_mut().step_by(side + 1);
                heavy.for_each(|number| *number += (present * side) as f64);
            }
            Some(block.into())
        };
        (0..blocks).map(block).collect()
    };
    (0..blocks).map(row).collect()
}

/// Calls `each` with the `chosen` places of `slice` and what is there, in parallel by halves.
/// `slice` begins with place `first`.
fn each_chosen<C, T, F>(cx: &mut C, slice: &mut [T], first: usize, chosen: &[usize], each: &F)
where
    C: ForkJoin,
    T: Send,
    F: Fn(&mut C, usize, &mut T) + Sync,
{
    match chosen {
        [] => {}
        [place] => each(cx, *place, &mut slice[*place - first]),
        _ => {
            let (chosen_low, chosen_high) = chosen.split_at(chosen.len() / 2);
            let middle = chosen_high[0];
            let (low, high) = slice.split_at_mut(middle - first);
            cx.join(
                |cx| each_chosen(cx, low, first, chosen_low, each),
                |cx| each_chosen(cx, high, middle, chosen_high, each),
            );
        }
    }
}

/// The block, which the plan says is there.
fn there(block: &Block) -> &[f64] {
    block.as_deref().expect("the plan names present blocks")
}

/// The numbers of a block that is present, to be changed.
fn there_mut(block: &mut Block) -> &mut [f64] {
    block.as_deref_mut().expect("the plan names present blocks")
}

/// All steps.
fn factor<C: ForkJoin>(cx: &mut C, side: usize, steps: &[FactorStep], matrix: &mut [Vec<Block>]) {
    for (place, step) in steps.iter().enumerate() {
        let next = place + 1;
        let (done, rows) = matrix.split_at_mut(next);
        let (diagonal, beside) = done[place].split_at_mut(next);
        let diagonal = there_mut(&mut diagonal[place]);
        triangular::lu(side, diagonal);
        let diagonal = &*diagonal;
        cx.join(
            |cx| {
                each_chosen(
                    cx,
                    beside,
                    next,
                    &step.beside,
                    &|_, _, block: &mut Block| {
                        triangular::solve_lower(side, diagonal, there_mut(block));
                    },
                );
            },
            |cx| {
                each_chosen(
                    cx,
                    rows,
                    next,
                    &step.below,
                    &|_, _, row: &mut Vec<Block>| {
                        triangular::solve_upper(side, diagonal, there_mut(&mut row[place]));
                    },
                );
            },
        );
        let beside = &*beside;
        each_chosen(
            cx,
            rows,
            next,
            &step.below,
            &|cx, _, row: &mut Vec<Block>| {
                let (left, right) = row.split_at_mut(next);
                let left = there(&left[place]);
                each_chosen(
                    cx,
                    right,
                    next,
                    &step.beside,
                    &|_, column, block: &mut Block| {
                        dense::subtract(
                            side,
                            there_mut(block),
                            left,
                            there(&beside[column - next]),
                        );
                    },
                );
            },
        );
    }
}

/// Blocks that are still written, each of which goes to one task after the other.
type Open<'scope> = Vec<Vec<Option<&'scope mut [f64]>>>;

/// Takes a block, for a task.
fn take<'scope>(open: &mut Open<'scope>, row: usize, column: usize) -> &'scope mut [f64] {
    let block = open[row][column].take();
    block.expect("the plan names present blocks, and a task gives its block back")
}

/// All steps as async tasks: those of a step are made one after the other, as in BOTS. A block
/// that is done is only read from then on.
fn factor_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    side: usize,
    steps: &'scope [FactorStep],
    matrix: &'scope mut [Vec<Block>],
) -> impl Task<()> + 'scope {
    async move {
        let rows = matrix.iter_mut();
        let mut open: Open<'scope> = rows
            .map(|row| row.iter_mut().map(Option::as_deref_mut).collect())
            .collect();
        for (place, step) in steps.iter().enumerate() {
            let diagonal = take(&mut open, place, place);
            triangular::lu(side, diagonal);
            let diagonal = &*diagonal;
            let (mut beside, mut below) = (Vec::new(), Vec::new());
            for column in &step.beside {
                let block = take(&mut open, place, *column);
                let solve = async move {
                    triangular::solve_lower(side, diagonal, block);
                    &*block
                };
                beside.push((*column, O::branch(scope, solve).await));
            }
            for row in &step.below {
                let block = take(&mut open, *row, place);
                let solve = async move {
                    triangular::solve_upper(side, diagonal, block);
                    &*block
                };
                below.push((*row, O::branch(scope, solve).await));
            }
            let (beside, below) = (all(beside).await, all(below).await);
            let mut updates = Vec::with_capacity(beside.len() * below.len());
            for (row, left) in &below {
                for (column, right) in &beside {
                    let (left, right) = (*left, *right);
                    let block = take(&mut open, *row, *column);
                    let update = async move {
                        dense::subtract(side, block, left, right);
                        block
                    };
                    updates.push(((*row, *column), O::branch(scope, update).await));
                }
            }
            for ((row, column), block) in all(updates).await {
                open[row][column] = Some(block);
            }
        }
    }
}

/// Awaits the tasks, newest first, and returns their results with their keys.
async fn all<K, T>(mut tasks: Vec<(K, Forked<T>)>) -> Vec<(K, T)> {
    let mut given = Vec::with_capacity(tasks.len());
    while let Some((key, newest)) = tasks.pop() {
        given.push((key, newest.await));
    }
    given.reverse();
    given
}

/// Which numbers of the factors a product with a vector takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FactorPart {
    /// L, with ones on its diagonal.
    Lower,
    /// U.
    Upper,
    /// All, as they are.
    All,
}

impl SparseLu {
    /// `part` of `matrix` times `vector`; with `sizes`, without the signs of the matrix.
    fn times(&self, matrix: &Matrix, part: FactorPart, sizes: bool, vector: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; vector.len()];
        let side = self.side;
        for (block_row, row) in matrix.iter().enumerate() {
            for (block_column, block) in row.iter().enumerate() {
                let Some(block) = block else { continue };
                for (inside, numbers) in block.chunks_exact(side).enumerate() {
                    let place = block_row * side + inside;
                    let first = block_column * side;
                    // The numbers left of the diagonal are L's.
                    let split = place.saturating_sub(first).min(side);
                    let range = match part {
                        FactorPart::Lower => 0..split,
                        FactorPart::Upper => split..side,
                        FactorPart::All => 0..side,
                    };
                    let with = &vector[first..][range.clone()];
                    let products = numbers[range].iter().zip(with);
                    let sign = |number: f64| if sizes { number.abs() } else { number };
                    out[place] += products.map(|(a, x)| sign(*a) * x).sum::<f64>();
                }
            }
        }
        if part == FactorPart::Lower {
            out.iter_mut().zip(vector).for_each(|(out, x)| *out += x);
        }
        out
    }

    /// In how many rows of all checks L · (U · x) = A · x for a random x. With n numbers in a row,
    /// each of both sides differs from its true value by n ROUNDING |L| |U| |x| a few times: once
    /// for the factors, once for the left matrix, twice for the product of both.
    fn rows_right(&self) -> u64 {
        let mut noise = Noise::new(12);
        let order = self.blocks * self.side;
        let check = |_| {
            let x = noise.units(order);
            let found = self.times(&self.matrix, FactorPart::Upper, false, &x);
            let found = self.times(&self.matrix, FactorPart::Lower, false, &found);
            let wanted = self.times(&self.original, FactorPart::All, false, &x);
            let sizes: Vec<f64> = x.iter().map(|x| x.abs()).collect();
            let bounds = self.times(&self.matrix, FactorPart::Upper, true, &sizes);
            let bounds = self.times(&self.matrix, FactorPart::Lower, true, &bounds);
            let each = 5.0 * order as f64 * ROUNDING;
            within(&found, &wanted, bounds.iter().map(|bound| each * bound))
        };
        (0..CHECKS).map(check).sum()
    }
}

/// Reads `50x100`.
fn parse_shape(input: &str) -> Result<(usize, usize), BadInput> {
    let number = |text: &str, most| whole_number(text.trim()).filter(|n| (1..=most).contains(n));
    let shape = input
        .split_once('x')
        .and_then(|(blocks, side)| Some((number(blocks, BLOCKS_MAX)?, number(side, SIDE_MAX)?)));
    let (blocks, side) = shape.ok_or_else(|| {
        let allowed = format!(
            "BLOCKSxSIDE with 1 to {BLOCKS_MAX} blocks in a row and a side from 1 to {SIDE_MAX}"
        );
        BadInput::new("sparselu input", input, allowed, "take sparselu 25x100")
    })?;
    Ok((blocks as usize, side as usize))
}

impl Workload for SparseLu {
    const NAME: &'static str = "sparselu";
    const ABOUT: &'static str =
        "L · U = A for a sparse matrix of dense blocks, as in BOTS, doubles";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        (
            "25x100",
            "25 × 25 blocks of 100 × 100, as BOTS' small input",
        ),
        ("25x25", "25 × 25 blocks of 25 × 25, as BOTS' test input"),
        (
            "50x100",
            "50 × 50 blocks of 100 × 100, as in StackThreads/MP's paper",
        ),
        (
            "75x100",
            "75 × 75 blocks of 100 × 100, as BOTS' medium input",
        ),
        (
            "100x100",
            "100 × 100 blocks of 100 × 100, as BOTS' large input",
        ),
    ];
    const PARAMS: &'static str = "BLOCKSxSIDE: blocks in a row, from 1 to 400, and the side of a \
                                  block, from 1 to 1000";
    const ITEMS: &'static str = "operations on blocks";
    const FIGURES: &'static [&'static str] = &["rows right", "checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let (blocks, side) = parse_shape(input)?;
        let steps = plan(blocks);
        let need_bytes = 2 * filled(&steps) * side * side * 8;
        memory::require(Self::NAME, input, need_bytes as u64, "take sparselu 25x100")?;
        let original = matrix(blocks, side);
        let mut with_room = original.clone();
        for (place, step) in steps.iter().enumerate() {
            let beside = step.beside.iter().map(|column| (place, *column));
            for (row, column) in beside.chain(step.below.iter().map(|row| (*row, place))) {
                let block = &mut with_room[row][column];
                block.get_or_insert_with(|| vec![0.0; side * side].into());
            }
        }
        Ok(SparseLu {
            blocks,
            side,
            steps,
            original,
            matrix: with_room,
            judged: Judged::default(),
        })
    }

    fn input(&self) -> String {
        format!("{}x{}", self.blocks, self.side)
    }

    fn prepare(&mut self) {
        for (row, original) in self.matrix.iter_mut().zip(&self.original) {
            for (block, original) in row.iter_mut().zip(original) {
                match (block, original) {
                    (Some(block), Some(original)) => block.copy_from_slice(original),
                    (Some(block), None) => block.fill(0.0),
                    (None, _) => {}
                }
            }
        }
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        factor(cx, self.side, &self.steps, &mut self.matrix);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        factor_task::<O>(scope, self.side, &self.steps, &mut self.matrix)
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        let mut digest = Digest::default();
        for (place, block) in self.matrix.iter().flatten().enumerate() {
            if let Some(block) = block {
                digest.word(place as u64);
                digest.numbers(block);
            }
        }
        self.judged.answer(digest.value(), || [self.rows_right()])
    }

    fn demanded(&self) -> Vec<u64> {
        vec![(CHECKS * self.blocks * self.side) as u64]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        operations(&self.steps) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    fn is_right(work: &SparseLu) -> bool {
        work.answer().0[0] == work.demanded()[0]
    }

    #[test]
    fn the_pattern_is_that_of_bots() {
        let rows: Vec<String> = (0..8)
            .map(|row| {
                let mark = |column| if is_present(row, column) { 'x' } else { '.' };
                (0..8).map(mark).collect()
            })
            .collect();
        let want = [
            "xxx.x.x.", "xxx.....", "xxxx....", "..xxx...", "x..xxx..", "....xxx.", "x....xxx",
            "......xx",
        ];
        assert_eq!(rows, want);
    }

    #[test]
    fn any_shape_is_factored() {
        for input in ["1x1", "1x30", "5x1", "7x6", "12x9", "25x4"] {
            let mut work = SparseLu::parse(input).unwrap();
            work.prepare();
            assert!(input.starts_with("1x1") || !is_right(&work), "{input}");
            work.run_serial();
            assert!(is_right(&work), "{input}: {:?}", work.answer());
        }
    }

    #[test]
    fn a_wrong_number_is_found_whatever_its_sign() {
        let mut work = SparseLu::parse("8x10").unwrap();
        work.prepare();
        work.run_serial();
        let right = work.answer();
        for change in [1e-6, -1e-6, 5.0, -5.0, f64::NAN] {
            let block = work.matrix[6][5].as_mut().unwrap();
            let was = block[17];
            block[17] += change;
            assert!(!is_right(&work), "{change}");
            work.matrix[6][5].as_mut().unwrap()[17] = was;
        }
        assert_eq!(work.answer(), right);
    }

    #[test]
    fn in_a_pool_and_by_joins() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = SparseLu::parse("20x8").unwrap();
        work.prepare();
        let mut cx = Counting::default();
        work.run(&mut cx);
        let serial = work.answer();
        // A tree of joins has one less than leaves.
        let joins = |step: &FactorStep| {
            let (beside, below) = (step.beside.len(), step.below.len());
            let solves = 1 + beside.saturating_sub(1) + below.saturating_sub(1);
            solves + (beside * below).saturating_sub(1)
        };
        assert_eq!(
            cx.spawns,
            work.steps.iter().map(joins).sum::<usize>() as u64
        );
        work.prepare();
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer(), serial);
        assert!(is_right(&work));
    }

    #[test]
    fn shapes_out_of_range_are_named() {
        for bad in ["50", "0x5", "5x0", "401x10", "10x1001", "ax3", "3x"] {
            let error = SparseLu::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("25x100"),
                "{error}"
            );
        }
    }
}
