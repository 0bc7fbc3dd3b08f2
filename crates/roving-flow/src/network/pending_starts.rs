//! The starts of a network's processes, until it runs.
//!
//! A network may have millions. So they lie one behind the other in *pieces* of memory, without an
//! allocation of each one's own; and a piece is freed as soon as its processes have been started,
//! whose tasks take memory meanwhile.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::ptr::NonNull;

use roving::task::Scope;

use super::launch::Setting;
use crate::machine::unwind::{go_on, to_the_end};

/// Bytes of the first piece, and of the largest: each is twice as large as the one before. Large
/// pieces go back to the system when they are freed.
const PIECES: RangeInclusive<usize> = if cfg!(miri) {
    1 << 8..=1 << 9
} else {
    1 << 12..=1 << 18
};

/// Starts begin at multiples of this.
const ALIGN: usize = align_of::<Head<'_>>();

/// The scope, the setting, and the index of the process.
type With<'env, 's> = (Scope<'env>, &'s Setting, u32);

/// Before each start.
#[repr(C, align(16))]
struct Head<'env> {
    /// Moves the start out, which lies behind this, and calls it; without arguments drops it.
    take: unsafe fn(NonNull<u8>, Option<With<'env, '_>>),
    /// Bytes from here to the next one.
    bytes: usize,
}

/// The starts that have not been called, in the order of their processes.
pub(crate) struct Starts<'env> {
    pieces: VecDeque<Piece<'env>>,
    len: usize,
}

/// Some starts, oldest first. Those from `begin` to `end` are there.
struct Piece<'env> {
    memory: NonNull<u8>,
    bytes: usize,
    begin: usize,
    end: usize,
    marker: PhantomData<Box<dyn FnOnce(Scope<'env>) + Send + 'env>>,
}

// SAFETY: each start is `Send`, and a piece has its memory to itself.
unsafe impl Send for Piece<'_> {}

impl<'env> Starts<'env> {
    pub(crate) fn new() -> Starts<'env> {
        Starts {
            pieces: VecDeque::new(),
            len: 0,
        }
    }

    /// How many were added.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds the start of the next process.
    pub(crate) fn push<F>(&mut self, start: F)
    where
        F: FnOnce(Scope<'env>, &Setting, u32) + Send + 'env,
    {
        match bytes_of::<F>() <= *PIECES.start() && align_of::<F>() <= ALIGN {
            true => self.put(start),
            false => {
                let start = Box::new(start);
                self.put(move |scope, setting: &Setting, index| start(scope, setting, index));
            }
        }
    }

    /// Adds a start that fits into a piece.
    fn put<F>(&mut self, start: F)
    where
        F: FnOnce(Scope<'env>, &Setting, u32) + Send + 'env,
    {
        let bytes = bytes_of::<F>();
        debug_assert!(bytes <= *PIECES.start() && align_of::<F>() <= ALIGN);
        let last = self.pieces.back_mut();
        let last = match last {
            Some(piece) if piece.bytes - piece.end >= bytes => piece,
            full => {
                let bytes = full.map_or(*PIECES.start(), |piece| 2 * piece.bytes);
                self.pieces.push_back(Piece::new(bytes.min(*PIECES.end())));
                self.pieces.back_mut().expect("it was pushed")
            }
        };
        let head = Head {
            take: take::<F>,
            bytes,
        };
        // SAFETY: from the end on, a multiple of the alignment, that many bytes are in the piece,
        // and not used.
        unsafe {
            let at = last.memory.add(last.end).cast::<Head<'env>>();
            at.write(head);
            at.add(1).cast::<F>().write(start);
        }
        last.end += bytes;
        self.len += 1;
    }

    /// Calls all, oldest first.
    pub(crate) fn start_all(mut self, scope: Scope<'env>, setting: &Setting) {
        let mut index = 0;
        while let Some(piece) = self.pieces.front_mut() {
            while piece.take(Some((scope, setting, index))) {
                index += 1;
            }
            self.pieces.pop_front();
        }
    }
}

impl<'env> Piece<'env> {
    fn new(bytes: usize) -> Piece<'env> {
        let layout = Piece::layout(bytes);
        // SAFETY: it is not empty.
        let memory = NonNull::new(unsafe { alloc(layout) });
        Piece {
            memory: memory.unwrap_or_else(|| handle_alloc_error(layout)),
            bytes,
            begin: 0,
            end: 0,
            marker: PhantomData,
        }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGN).expect("a piece is small")
    }

    /// Takes the oldest start out, and calls it with that, or drops it. False if there is none.
    fn take(&mut self, with: Option<With<'env, '_>>) -> bool {
        let is_there = self.begin < self.end;
        if is_there {
            // SAFETY: a start begins here, which was not taken before; nor is it again, whatever
            // it does.
            unsafe {
                let head = self.memory.add(self.begin).cast::<Head<'env>>();
                let Head { take, bytes } = head.read();
                self.begin += bytes;
                take(head.add(1).cast(), with);
            }
        }
        is_there
    }
}

/// With its head.
const fn bytes_of<F>() -> usize {
    size_of::<Head<'_>>() + size_of::<F>().next_multiple_of(ALIGN)
}

/// # Safety
/// A start of that type lies there, and is not used again.
unsafe fn take<'env, F>(at: NonNull<u8>, with: Option<With<'env, '_>>)
where
    F: FnOnce(Scope<'env>, &Setting, u32) + Send + 'env,
{
    // SAFETY: the caller's promise.
    let start = unsafe { at.cast::<F>().read() };
    if let Some((scope, setting, index)) = with {
        start(scope, setting, index);
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        struct FreeOnDrop(NonNull<u8>, Layout);
        impl Drop for FreeOnDrop {
            fn drop(&mut self) {
                // SAFETY: allocated with that layout, and nobody uses it any more.
                unsafe { dealloc(self.0.as_ptr(), self.1) };
            }
        }
        let _memory = FreeOnDrop(self.memory, Piece::layout(self.bytes));
        // Whoever waits for the ports of those behind hears of them, also when a start panics as it
        // is dropped.
        go_on(to_the_end(|| self.take(None)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use roving::Pool;

    use super::*;
    use crate::channel::shared::Shared;

    const COUNT: u32 = 400;

    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Wide(u32);

    /// Starts of several sizes, of which some do not fit into a piece; each notes its number.
    fn fill<'env>(starts: &mut Starts<'env>, log: &'env Mutex<Vec<(u32, u32)>>, held: &Arc<()>) {
        for number in (0..COUNT).step_by(4) {
            let note = |of: u32| move |index: u32| log.lock().unwrap().push((of, index));
            let keeps = || Arc::clone(held);
            let (one, two, three, four) = (
                note(number),
                note(number + 1),
                note(number + 2),
                note(number + 3),
            );
            let (kept, wide, large) = (keeps(), Wide(7), [keeps(), keeps()]);
            let huge = [1_u8; 2 * *PIECES.start()];
            starts.push(move |_, _, index| one(index));
            starts.push(move |_, _, index| {
                drop(kept);
                two(index);
            });
            starts.push(move |_, _, index| {
                assert!((&raw const wide).is_aligned() && wide.0 == 7);
                three(index);
            });
            starts.push(move |_, _, index| {
                assert!(huge.iter().all(|&byte| byte == 1) && large.len() == 2);
                four(index);
            });
        }
    }

    #[test]
    fn starts_are_called_in_their_order_and_dropped_if_they_are_not_called() {
        let (log, held) = (Mutex::default(), Arc::new(()));
        let mut starts = Starts::new();
        fill(&mut starts, &log, &held);
        assert_eq!(
            (starts.len(), Arc::strong_count(&held)),
            (COUNT as usize, 1 + COUNT as usize / 4 * 3)
        );
        assert!(starts.pieces.len() > 1);
        drop(starts);
        assert_eq!(
            (log.lock().unwrap().len(), Arc::strong_count(&held)),
            (0, 1)
        );

        let mut starts = Starts::new();
        fill(&mut starts, &log, &held);
        let setting = Setting {
            shared: Arc::new(Shared::new()),
            is_timed: false,
            is_placed: false,
            accounts: None,
        };
        Pool::new(1)
            .unwrap()
            .run(async |scope| starts.start_all(scope, &setting));
        let called = log.lock().unwrap();
        assert!(
            called
                .iter()
                .copied()
                .eq((0..COUNT).map(|number| (number, number)))
        );
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
