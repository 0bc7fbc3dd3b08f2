//! Trees of coroutines whose code is not Rust: what the coroutines of `roving.hpp` need of the
//! workers.
//!
//! A coroutine's *continuation*, or a child that was spawned, stands in a slot as any task does. It
//! is never joined there: a thief takes the words out, frees the slot, and then calls the code that
//! stands beside them, as it does with the frames of async tasks. That code resumes the coroutine,
//! and then, one after the other, what is left above on the worker's stack ([`take_above`]). A
//! coroutine that waits for others is on no stack: the last of these resumes it. So a worker that
//! has nothing left of a tree goes home, and only the caller of the whole waits.
//!
//! The fast push and pop are written in the other language, as those of
//! [`foreign`](super::foreign): a push fills the slot at the top with [`RUN`], the code and the
//! words, and a pop takes it if it is private and holds what was pushed.

use std::ptr::{self, NonNull};

use super::foreign::Opaque;
use super::whole::Whole;
use crate::inherit::node;
use crate::machine::unwind::with_frame_lent;
use crate::stack::slot::{Further, Slot, fits};
use crate::workers::Worker;
use crate::workers::frames::Level;
use crate::workers::frames::open_count::Open;
use crate::workers::own_tasks::Own;
use crate::workers::wait::Taken;

pub use crate::stack::slot::ForeignHead as Head;

/// The code of a coroutine; see [`Head`].
pub type Code = unsafe extern "C" fn(wire: *const (), head: *mut Head);

/// The words of a coroutine's slot, as the other language lays them out: three addresses.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Words {
    /// An address by which the push is known; nothing is read there.
    pub key: *const (),
    /// The tree of the coroutine.
    pub tree: *const Tree,
    /// The head of the coroutine.
    pub head: *mut Head,
}

/// The payload of a slot.
#[derive(Clone, Copy)]
#[repr(C)]
struct PushedCoroutine {
    code: Code,
    words: Words,
}

const _: () = assert!(fits::<PushedCoroutine>());

/// Written into the slot by a fast push, beside the code and its words. A static, because a
/// function can have several addresses and coroutines are known by this one.
pub static RUN: Opaque = Opaque(run_pushed);

/// Takes the words out of a slot, on a thief or where a stack is drained. The slot is free again
/// before the coroutine runs. The tree is opened for who takes it.
///
/// # Safety
/// As [`Run`](crate::stack::slot::Run); the payload is a [`PushedCoroutine`].
unsafe extern "C-unwind" fn run_pushed(slot: &Slot) -> Further {
    // SAFETY: the payload is a `PushedCoroutine`, as the caller promises.
    let PushedCoroutine { code, words } = unsafe { slot.take::<PushedCoroutine>() };
    let Words { tree, head, .. } = words;
    // SAFETY: the worker that has pushed this is counted in the tree until it knows that the slot
    // is free. The coroutine is this thread's from now on.
    unsafe {
        (*tree).open.add();
        (*head).run = code;
        Further::Foreign(NonNull::new_unchecked(head))
    }
}

/// The worker that the calling thread is.
fn with_worker<R>(f: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|worker| f(worker.expect("coroutines run on workers")))
}

/// Pushes a continuation where the fast push is refused. False: there is no room.
///
/// # Safety
/// The calling thread runs coroutines of that tree, which has not ended. The code can be called
/// once with the head, on any worker of the pool, if the coroutine is not popped before.
pub unsafe fn push(code: Code, words: Words) -> bool {
    with_worker(|worker| {
        let (done, wake) = match worker.owner().push(RUN.0, PushedCoroutine { code, words }) {
            Ok((_, wake)) => (true, wake),
            Err((_, wake)) => (false, wake),
        };
        worker.wake_if(wake);
        done
    })
}

/// Pushes a child that was spawned. It stays below what its parent pushes later. False as in
/// [`push`].
///
/// # Safety
/// As [`push`].
pub unsafe fn push_unjoined(code: Code, words: Words) -> bool {
    with_worker(|worker| {
        let pushed = PushedCoroutine { code, words };
        let (done, wake) = match worker.owner().push_unjoined(RUN.0, pushed) {
            Ok(wake) => (true, wake),
            Err((_, wake)) => (false, wake),
        };
        worker.wake_if(wake);
        done
    })
}

/// Takes the newest task off the stack, if it is one of that code and known by `key`, and
/// no thief has it; returns its slot, which holds the words until the next push.
///
/// # Safety
/// The calling thread runs coroutines of a tree, and the code is that of its pushes.
pub unsafe fn take_newest(code: Code, key: u64) -> Option<*const ()> {
    with_worker(|worker| {
        worker.owner().answer_alarm();
        let stack = worker.owner().stack();
        let index = worker.owner().top().checked_sub(1)?;
        let slot = stack.slot(index);
        // Thieves write neither the function nor such a payload, so it may be read even if one has
        // claimed it.
        if !slot.will_run(RUN.0) {
            return None;
        }
        // SAFETY: it is a `PushedCoroutine`, read by copy.
        let pushed = unsafe { slot.take::<PushedCoroutine>() };
        let is_it = ptr::fn_addr_eq(pushed.code, code) && pushed.words.key.addr() as u64 == key;
        (is_it && worker.take(index) == Taken::Here).then(|| stack.at(index).cast())
    })
}

/// Returns the first free slot of the calling worker's stack.
pub fn top() -> *const () {
    with_worker(|worker| worker.owner().line().top.get().cast())
}

/// Takes the newest coroutine above `base` off the stack, and runs what else lies above it. `None`
/// when nothing is left there. The slot holds the words until the next push.
///
/// # Safety
/// The top was `base` when the calling thread began to run coroutines, and it runs none now.
pub unsafe fn take_above(base: *const ()) -> Option<*const ()> {
    with_worker(|worker| {
        loop {
            let slot = Own(worker).take_above(base.cast())?;
            // SAFETY: a slot of this worker's stack, whose task was taken off it, and is run once.
            unsafe {
                if (*slot).will_run(RUN.0) {
                    return Some(slot.cast());
                }
                let further = (*slot).run();
                worker.run_further(further, Level::Above);
            }
        }
    })
}

/// All coroutines below one blocking call.
///
/// `open` counts the workers that run some of them: each from before it took its first until its
/// stack is empty of them, the caller included. A coroutine that waits is counted by the workers
/// that have what it waits for. So when the count comes to 0, every coroutine has ended.
pub struct Tree {
    whole: Whole,
    open: Open,
}

impl Tree {
    /// Calls `body` with a tree, to run its coroutines here, and returns when all have ended. False
    /// on a thread that is no worker: nothing was called.
    ///
    /// # Safety
    /// The body does not unwind, and leaves nothing on the stack.
    pub unsafe fn run(body: impl FnOnce(&Tree)) -> bool {
        Worker::with_current(|worker| {
            worker.is_some_and(|worker| {
                let tree = Tree {
                    whole: Whole::new(worker),
                    open: Open::new(),
                };
                with_frame_lent(|| {
                    let run = || {
                        body(&tree);
                        // SAFETY: counted when it was made.
                        unsafe { Tree::close(&raw const tree, worker) };
                        tree.whole.wait(worker);
                    };
                    // SAFETY: it has not ended: the caller is counted.
                    unsafe { tree.whole.enter(worker, run) };
                    assert!(tree.open.is_over(), "all coroutines of a tree have ended");
                });
                true
            })
        })
    }

    /// Calls `body` on a worker that has taken a coroutine of the tree out of a slot, to run that
    /// and what it leaves. The tree may be gone afterwards.
    ///
    /// # Safety
    /// Code calls this once with which a thief was called. The body does not unwind, and leaves
    /// nothing on the stack.
    pub unsafe fn join_in(this: *const Tree, body: impl FnOnce()) {
        with_worker(|worker| {
            // SAFETY: the thief was counted when it took the coroutine out of its slot.
            unsafe {
                (*this).whole.run_part(worker, body);
                Tree::close(this, worker);
            }
        });
    }

    /// # Safety
    /// The caller was counted.
    unsafe fn close(this: *const Tree, worker: &Worker) {
        // SAFETY: the tree is alive while somebody is counted, and then until its caller hears that
        // it has ended.
        unsafe {
            let over = (*this).open.sub(1, || ());
            if over.is_some() {
                Whole::end(&raw const (*this).whole, worker);
            }
        }
    }

    /// Whether the tree may be cancelled, by other means than its pool.
    pub fn has_token() -> bool {
        node::with_current(|node| node.is_some_and(node::Node::has_token))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::machine::prim::Mutex;

    /// A coroutine that counts its runs.
    #[repr(C)]
    struct Adds {
        head: Head,
        tree: *const Tree,
        total: AtomicU64,
    }

    /// Used by address alone, as the frames of the other language are.
    struct One(*mut Adds);

    // SAFETY: what it leads to is shared as `Adds` is.
    unsafe impl Send for One {}

    impl One {
        fn new(tree: &Tree) -> One {
            One(Box::into_raw(Box::new(Adds {
                head: Head { run: add },
                tree,
                total: AtomicU64::new(0),
            })))
        }

        fn words(&self, key: usize) -> Words {
            // SAFETY: it is there until this is dropped.
            let tree = unsafe { (*self.0).tree };
            let (key, head) = (ptr::without_provenance(key), self.0.cast());
            Words { key, tree, head }
        }

        fn total(&self) -> u64 {
            // SAFETY: it is there until this is dropped.
            unsafe { (*self.0).total.load(Ordering::Relaxed) }
        }
    }

    impl Drop for One {
        fn drop(&mut self) {
            // SAFETY: made by `new`; its tree has ended, or nobody took it out of the slot.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }

    /// One address: each use of a function's name may have another.
    static ADD: Code = add;

    unsafe extern "C" fn add(_: *const (), head: *mut Head) {
        // SAFETY: the head of an `Adds`, whose test outlives the tree.
        unsafe {
            let adds = head.cast::<Adds>();
            Tree::join_in((*adds).tree, || {
                (*adds).total.fetch_add(1, Ordering::Relaxed);
            });
        }
    }

    #[test]
    fn the_owner_takes_what_it_pushed_and_nothing_else() {
        let pool = crate::Pool::new(1).unwrap();
        let body = |tree: &Tree| {
            let (base, one) = (top(), One::new(tree));
            // SAFETY: what is pushed here is taken here.
            unsafe {
                assert!(take_newest(ADD, 1).is_none(), "nothing is there");
                assert!(push(ADD, one.words(1)));
                assert!(take_newest(ADD, 2).is_none(), "another's");
                assert!(take_newest(ADD, 1).is_some());
                assert_eq!(top(), base);
                assert!(push_unjoined(ADD, one.words(2)));
                assert!(push(ADD, one.words(3)));
                assert_eq!(take_above(base).map(key_of), Some(3));
                assert_eq!(take_above(base).map(key_of), Some(2));
                assert!(take_above(base).is_none());
            }
            assert_eq!(top(), base);
            assert_eq!(one.total(), 0, "nobody ran it");
        };
        // SAFETY: the body leaves nothing on the stack.
        assert!(pool.install(|| unsafe { Tree::run(body) }));
        // SAFETY: nothing is called.
        assert!(!unsafe { Tree::run(|_| unreachable!("no worker")) });
    }

    fn key_of(slot: *const ()) -> usize {
        // SAFETY: a slot that was just popped.
        let pushed = unsafe { (*slot.cast::<Slot>()).take::<PushedCoroutine>() };
        pushed.words.key.addr()
    }

    #[test]
    fn a_tree_ends_when_thieves_have_run_what_they_took() {
        // So many fit into a stack.
        let (rounds, tasks) = if cfg!(miri) { (6, 24) } else { (100, 100) };
        let pool = crate::Pool::builder().workers(2).assume_cores(2).build();
        let pool = pool.unwrap();
        for _ in 0..rounds {
            let all = Mutex::new(Vec::new());
            let own = AtomicU64::new(0);
            let body = |tree: &Tree| {
                let base = top();
                for _ in 0..tasks {
                    let one = One::new(tree);
                    // SAFETY: `add` takes it, on either worker, and it lives as long as the test.
                    assert!(unsafe { push_unjoined(ADD, one.words(0)) });
                    all.lock().push(one);
                }
                // SAFETY: the base is that of this body.
                while unsafe { take_above(base) }.is_some() {
                    own.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                }
            };
            // SAFETY: the body leaves nothing on the stack.
            assert!(pool.install(|| unsafe { Tree::run(body) }));
            let stolen = all.into_inner().iter().map(One::total).sum::<u64>();
            assert_eq!(own.into_inner() + stolen, tasks);
        }
    }
}
