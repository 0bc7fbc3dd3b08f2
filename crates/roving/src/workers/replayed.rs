//! Deterministic pools: their workers have threads of their own, of which one goes on at a time, as
//! a schedule draws it ([`crate::replay`]).

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::machine::meeting_points;
use crate::replay::Schedule;
use crate::replay::baton::Baton;
use crate::replay::members::TURNS;
use crate::stack::Showing;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;
use crate::workers::pool_kind::PoolKind;
use crate::workers::priority::Priority;
use crate::workers::registry::Registry;
use crate::workers::settings::SPARES_MAX;

/// The longest block of a loop is below two to the power of this many items.
const BLOCK_BITS: usize = 12;

/// A pool whose workers take turns.
struct Replayed(Arc<Baton>);

/// A deterministic pool of so many workers, for its builder. Compiled where it is called: what is
/// reached from here alone is in no other program.
#[inline]
pub(crate) fn kind(schedule: Schedule, workers: usize) -> Box<dyn PoolKind> {
    meeting_points::set(&TURNS);
    Box::new(Replayed(Baton::new(schedule, workers + SPARES_MAX)))
}

impl PoolKind for Replayed {
    #[inline]
    fn workers_least(&self, _wished: usize, workers: usize) -> usize {
        workers
    }

    #[inline]
    fn spawn(&self, pool: &Arc<Registry>, class: Priority, job: Job) {
        let mut job = Some(job);
        self.visit(&mut || {
            pool.check_has_threads();
            let job = job.take().expect("it is called once");
            pool.inject_in(class, JobKind::Detached, job);
        });
    }

    /// More tasks are public unasked in some schedules, and none in others, where thieves get what
    /// they ask for. How many are never depends on the time.
    #[inline]
    fn showing(&self, showing: Showing) -> Showing {
        let (unasked, thieves) = match self.0.schedule.shown() {
            0 => (0, 0),
            1 => (showing.unasked, showing.thieves),
            _ => (showing.wide, showing.wide),
        };
        Showing {
            unasked,
            thieves,
            wide: unasked,
            watched: true,
            ..showing
        }
    }

    #[inline]
    fn block(&self) -> Option<usize> {
        Some(1 << self.0.schedule.pick(BLOCK_BITS))
    }

    #[inline]
    fn expect_thread(&self, seat: usize) {
        self.0.expect(seat);
    }

    #[inline]
    fn expect_no_thread(&self, seat: usize) {
        self.0.expect_no_more(seat);
    }

    #[inline]
    fn attend(&self, seat: usize, work: &mut dyn FnMut()) {
        self.0.attend(seat, work);
    }

    #[inline]
    fn visit(&self, f: &mut dyn FnMut()) {
        let visited = panic::catch_unwind(AssertUnwindSafe(|| self.0.visited(f)));
        visited.unwrap_or_else(|payload| {
            self.0.schedule.say_seed();
            panic::resume_unwind(payload)
        });
    }

    #[inline]
    fn with_schedule(&self, f: &mut dyn FnMut(&Schedule)) {
        f(&self.0.schedule);
    }
}
