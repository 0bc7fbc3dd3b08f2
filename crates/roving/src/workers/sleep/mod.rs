//! The protocol of sleeping and waking.
//!
//! A worker without work looks around for a while, then parks. There is no ticker and no
//! timeout, so no wake-up may be lost. Work arrives in three ways, and each meets the sleeper in
//! one place:
//!
//! **Published tasks.** The sleeper
//! S1 enters the idle set,
//! S2 sets the want flag in the span of each stack, with a read-modify-write,
//! S3 parks if none of the spans showed a public task.
//! The owner
//! O1 publishes with a read-modify-write of its span,
//! O2 if that found the flag, takes a worker out of the idle set and unparks it.
//! S2 and O1 change the same word, so one comes first. If O1 does, S2 sees the public task and the
//! sleeper goes back to stealing. If S2 does, O1 finds the flag, and by its release sees what was
//! before it: the sleeper in the idle set. The flag that O1 cleared is set again by whoever goes
//! to sleep next; a worker that O2 woke for one task wakes the next one if it leaves tasks behind.
//!
//! Where another worker looks around meanwhile, O2 is left to that one ([`lookers`]): it finds the
//! task, or does S2 after it has ceased to look, or does O2 because it has found something else.
//!
//! **Private tasks that nobody has asked for** are no work that arrives: the flag makes their owner
//! publish at its next push or pop, which is O1.
//!
//! **Jobs** are put into the injector, or a mailbox, under a lock; then O2. The sleeper looks in
//! under that lock after S1. One critical section comes first
//! ([`crate::workers::inject::JobQueue`]).
//!
//! **Seats without threads**, those of a share of an arena, are asleep in the same sense: S1 and S2
//! are done by the thread that leaves, S3 is its leaving, and to unpark is to call for a thread
//! ([`crate::workers::arena`]).
//!
//! **Benched workers** ([`Pool::resize`](crate::Pool::resize)) sleep outside of the idle set. One
//! that was taken out of it for O2 and then finds itself benched does O2 once more ([`roster`]).
//!
//! A worker that waits for a stolen task parks too, outside the idle set: the waiter bit in the
//! slot's word meets the thief's end of the task ([`crate::stack::slot_state`]). Meanwhile a spare
//! thread has its core ([`spares`]), or, where compensation threads run no tasks, it *follows* its
//! thief: S1 and O2 are then about the set of followers that belongs to the thief's seat
//! ([`crate::workers::wait`]).

pub(crate) mod crew;
pub(crate) mod idle;
pub(crate) mod in_use;
pub(crate) mod lending;
#[cfg(all(test, loom))]
mod lending_loom_tests;
pub(crate) mod lookers;
pub(crate) mod parts;
pub(crate) mod roster;
pub(crate) mod sleep_loop;
pub(crate) mod spares;

#[cfg(all(test, loom))]
pub(crate) mod loom_pool;
#[cfg(all(test, loom))]
pub(crate) mod loom_tests;

pub(crate) use parts::Parts;
