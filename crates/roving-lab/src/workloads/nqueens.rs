//! `nqueens`: all ways to put n queens on a board, row by row, a task for each safe place, no
//! cut-off. The tasks are small and their number is not known beforehand.

use roving::task::{Scope, Task};
use serde::{Deserialize, Serialize};

use super::{Evidence, RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, number_in};

/// The most queens.
const MOST: usize = 18;
/// The number of solutions for 0, 1, 2, … queens (OEIS A000170).
const SOLUTIONS: [u64; MOST + 1] = [
    1,
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
];

/// n queens.
#[derive(Debug)]
pub(crate) struct Nqueens {
    pub(crate) n: usize,
    solutions: u64,
}

/// The columns of the queens in the first rows. Small, so that each task has its own.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QueensBoard {
    columns: [u8; MOST],
    pub(crate) rows: usize,
}

impl QueensBoard {
    /// Whether no queen attacks `column` of the next row.
    pub(crate) fn is_safe(&self, column: u8) -> bool {
        let queens = self.columns[..self.rows].iter().zip((1..=self.rows).rev());
        queens.into_iter().all(|(&queen, distance)| {
            usize::from(queen.abs_diff(column)) != distance && queen != column
        })
    }

    /// The board with one more queen.
    pub(crate) fn with(mut self, column: u8) -> QueensBoard {
        self.columns[self.rows] = column;
        self.rows += 1;
        self
    }
}

/// The solutions that begin with `board`.
fn solutions<C: ForkJoin>(cx: &mut C, board: &QueensBoard, n: usize) -> u64 {
    if board.rows == n {
        1
    } else {
        from_column(cx, board, n, 0)
    }
}

/// The solutions that begin with `board` and have the next queen at `first` or further right.
fn from_column<C: ForkJoin>(cx: &mut C, board: &QueensBoard, n: usize, first: u8) -> u64 {
    let mut safe = (first..n as u8).filter(|column| board.is_safe(*column));
    let Some(column) = safe.next() else { return 0 };
    let (here, further) = cx.join(
        |cx| solutions(cx, &board.with(column), n),
        |cx| from_column(cx, board, n, column + 1),
    );
    here + further
}

/// [`solutions`] as async tasks.
fn solutions_task<'scope, O: BranchOrder>(
    scope: Scope<'scope>,
    board: QueensBoard,
    n: usize,
) -> impl Task<u64> + 'scope {
    async move {
        let mut safe = (0..n as u8).filter(|column| board.is_safe(*column));
        if board.rows == n {
            return 1;
        }
        let Some(mut column) = safe.next() else {
            return 0;
        };
        let mut others = Vec::new();
        for next in safe {
            let other = solutions_task::<O>(scope, board.with(column), n);
            others.push(O::branch(scope, other).await);
            column = next;
        }
        let mut solutions = scope
            .call(solutions_task::<O>(scope, board.with(column), n))
            .await;
        while let Some(newest) = others.pop() {
            solutions += newest.await;
        }
        solutions
    }
}

impl Workload for Nqueens {
    const NAME: &'static str = "nqueens";
    const ABOUT: &'static str = "all ways to put n queens on a board, a task for each safe place";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("12", "14,200 solutions"),
        ("8", "92 solutions"),
        ("10", "724 solutions"),
        ("13", "73,712 solutions"),
        ("14", "365,596 solutions"),
        ("15", "2,279,184 solutions"),
    ];
    const PARAMS: &'static str = "n, from 0 to 18";
    const ITEMS: &'static str = "solutions";
    const FIGURES: &'static [&'static str] = &["solutions"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let n = number_in("nqueens input", input, 0..=MOST as u64, "take nqueens 12")? as usize;
        Ok(Nqueens { n, solutions: 0 })
    }

    fn input(&self) -> String {
        self.n.to_string()
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        self.solutions = solutions(cx, &QueensBoard::default(), self.n);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let board = QueensBoard::default();
            self.solutions = solutions_task::<O>(scope, board, self.n).await;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        RunAnswer([self.solutions, 0, 0])
    }

    fn expected(&self) -> Option<(RunAnswer, Evidence)> {
        Some((RunAnswer([SOLUTIONS[self.n], 0, 0]), Evidence::Published))
    }

    fn items(&self, answer: &RunAnswer) -> u64 {
        answer.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    #[test]
    fn small_boards() {
        for (n, solutions) in SOLUTIONS.into_iter().enumerate().take(10) {
            let mut work = Nqueens::parse(&n.to_string()).unwrap();
            work.run_serial();
            assert_eq!(
                Some((work.answer(), Evidence::Published)),
                work.expected(),
                "{n} queens"
            );
            work.run(&mut Counting::default());
            assert_eq!(work.answer().0[0], solutions);
        }
    }

    #[test]
    fn in_a_pool() {
        let pool = roving::Pool::builder().workers(4).build().unwrap();
        let mut work = Nqueens::parse("8").unwrap();
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer().0[0], 92);
    }

    #[test]
    fn too_many_queens_are_named() {
        let error = Nqueens::parse("19").unwrap_err().to_string();
        assert!(
            error.contains("`19`") && error.contains("from 0 to 18"),
            "{error}"
        );
    }
}
