//! One rank's state of the moves of processes: `moves.rs` says what happens to it.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::report::Moved;

/// Each rank's state of the moves.
pub(super) struct Moves {
    pub(super) begun: Instant,
    /// Where each process is.
    pub(super) places: Vec<u32>,
    pub(super) under_way: Option<UnderWay>,
    /// Marks that have come, by the number of the move.
    pub(super) marks: HashMap<u64, usize>,
    /// Used at rank 0.
    pub(super) desk: MoveDesk,
}

/// A move between `Hold` and `Switch`.
pub(super) struct UnderWay {
    pub(super) process: u32,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) number: u64,
    /// The process, or the answer to the marks, is on its way.
    pub(super) is_answered: bool,
}

/// Rank 0's additional state.
#[derive(Default)]
pub(super) struct MoveDesk {
    /// The number of the last move.
    pub(super) number: u64,
    pub(super) is_moving: bool,
    /// A checkpoint is being made, or waits for the end of a move: no move begins.
    pub(super) is_cutting: bool,
    /// How many have not said `Held`, or `Arrived`.
    pub(super) missing: usize,
    /// Of the state of the process that moves.
    pub(super) bytes: u64,
    /// Where processes are to go that have been asked to leave, by process.
    pub(super) wanted: HashMap<u32, u32>,
    /// Those that have stopped.
    pub(super) queue: VecDeque<u32>,
    pub(super) done: Vec<u32>,
    pub(super) log: Vec<Moved>,
}

impl Moves {
    pub(super) fn new(places: Vec<u32>) -> Moves {
        Moves {
            begun: Instant::now(),
            places,
            under_way: None,
            marks: HashMap::new(),
            desk: MoveDesk::default(),
        }
    }

    /// Where each process is.
    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    /// The move that is under way, in words.
    pub(super) fn told(&self) -> Option<String> {
        let one = self.under_way.as_ref()?;
        Some(format!(
            "process {} moves from rank {} to {} as number {}: marks {:?}, {}",
            one.process,
            one.from,
            one.to,
            one.number,
            self.marks.get(&one.number),
            match one.is_answered {
                true => "answered",
                false => "not answered",
            },
        ))
    }

    /// Rank 0: no move begins until [`Self::is_cut`]. Whether none is under way.
    pub(super) fn may_cut(&mut self) -> bool {
        self.desk.is_cutting = true;
        !self.desk.is_moving
    }

    /// Rank 0: the checkpoint is made. The processes that are wanted elsewhere, and where they are.
    pub(super) fn is_cut(&mut self) -> Vec<(u32, usize)> {
        self.desk.is_cutting = false;
        let wanted = self.desk.wanted.keys();
        wanted
            .map(|&process| (process, self.places[process as usize] as usize))
            .collect()
    }

    /// Rank 0: the moves that were made.
    pub(super) fn log(&self) -> &[Moved] {
        &self.desk.log
    }
}
