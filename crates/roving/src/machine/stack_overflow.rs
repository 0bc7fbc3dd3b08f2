//! The message for a worker whose native stack is full.
//!
//! The standard library has a handler for that fault, which names the thread and ends the process.
//! While pools have threads, a handler of ours runs before it. It says which limit to raise, and
//! steps aside; the fault comes again, to the earlier handler. At any fault that is not the end of
//! a worker's stack it steps aside in silence. Threads without an alternative stack for handlers,
//! as in a library in Rust that a program in C has loaded, could not run ours: none is set for
//! them.

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::Watched;

/// Elsewhere nothing more is said than what the standard library says.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) struct Watched;

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Watched {
    pub(crate) fn new() -> Watched {
        Watched
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::marker::PhantomData;
    use std::{mem, ptr};

    use crate::machine::linux::{self, Attributes, Fault, Sigaction, SignalStack};
    use crate::machine::prim::Ordering;
    use crate::machine::prim::unexplored::{AtomicPtr, AtomicUsize};

    /// The end of a native stack: no address from `from` to `to` may be touched.
    #[derive(Clone, Copy)]
    struct StackEnd {
        from: usize,
        to: usize,
        /// Of the whole stack.
        bytes: usize,
    }

    thread_local! {
        /// Of the calling thread, while it is a worker. Has no destructor and nothing to compute,
        /// so that the handler may read it.
        static END: Cell<Option<StackEnd>> = const { Cell::new(None) };
    }

    /// How many threads have a [`Watched`] with an end. Who makes it 1 sets the handler, who makes
    /// it 0 takes it away: nobody else has one then, so it was set before. Where both happen at
    /// once, the handler may be missing for a while, but never stays for good.
    static THREADS: AtomicUsize = AtomicUsize::new(0);

    /// The handler that was set before ours; null before ours was. Never freed, because a handler
    /// may be reading it, and made anew only if it is another one.
    static BEFORE: AtomicPtr<Sigaction> = AtomicPtr::new(ptr::null_mut());

    /// While it lives, an overflow of the calling thread's native stack says which limit to raise.
    pub(crate) struct Watched {
        is_counted: bool,
        /// Of the worker that this thread already was, of another pool.
        outer: Option<StackEnd>,
        /// It is the calling thread's.
        not_send: PhantomData<*const ()>,
    }

    impl Watched {
        /// Of a thread that begins to work. A few microseconds.
        pub(crate) fn new() -> Watched {
            let end = Some(())
                .filter(|()| linux::SIGNALS_ARE_KNOWN && has_signal_stack())
                .and_then(|()| find_end());
            let outer = END.replace(end);
            // Ordering: Edge [overflow]: Acquire, so that who counts the first one does so after
            // the handler of those before was taken away; Release, with the last one's Acquire
            // below.
            if end.is_some() && THREADS.fetch_add(1, Ordering::AcqRel) == 0 {
                set_handler();
            }
            Watched {
                is_counted: end.is_some(),
                outer,
                not_send: PhantomData,
            }
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            END.set(self.outer);
            // Ordering: Release and Acquire [overflow], so that the last one finds the handler set.
            if self.is_counted && THREADS.fetch_sub(1, Ordering::AcqRel) == 1 {
                take_handler_away();
            }
        }
    }

    /// Whether a handler could run when the calling thread's stack is full.
    fn has_signal_stack() -> bool {
        // SAFETY: all-zero is a value of it, and the call writes no more than its size.
        unsafe {
            let mut stack: SignalStack = mem::zeroed();
            linux::sigaltstack(ptr::null(), &mut stack) == 0 && stack.flags & linux::SS_DISABLE == 0
        }
    }

    /// Where the calling thread's stack ends, if the system says so and keeps something unmapped
    /// there.
    fn find_end() -> Option<StackEnd> {
        let (mut lowest, mut bytes, mut guard) = (ptr::null_mut::<c_void>(), 0, 0);
        // SAFETY: the attributes are those that the first call writes, and are destroyed once.
        unsafe {
            let mut attributes: Attributes = mem::zeroed();
            if linux::pthread_getattr_np(linux::pthread_self(), &mut attributes) != 0 {
                return None;
            }
            let known = linux::pthread_attr_getstack(&attributes, &mut lowest, &mut bytes) == 0
                && linux::pthread_attr_getguardsize(&attributes, &mut guard) == 0;
            linux::pthread_attr_destroy(&mut attributes);
            if !known || guard == 0 {
                return None;
            }
        }
        // Older C libraries count the guard as a part of the stack.
        let (from, to) = (lowest.addr() - guard, lowest.addr() + guard);
        Some(StackEnd { from, to, bytes })
    }

    fn set_handler() {
        // SAFETY: all-zero is a value of it: no signals are masked.
        let mut ours: Sigaction = unsafe { mem::zeroed() };
        ours.handler = on_fault as *const () as usize;
        ours.flags = linux::SA_SIGINFO | linux::SA_ONSTACK;
        // SAFETY: the handler does what a handler may, and both are of the right type.
        let before = unsafe {
            let mut before: Sigaction = mem::zeroed();
            if linux::sigaction(linux::SIGSEGV, &ours, &mut before) != 0 {
                return;
            }
            before
        };
        // Ordering: Edge [before]: Acquire, for the fields that whoever stored it wrote.
        let known = BEFORE.load(Ordering::Acquire);
        // SAFETY: it is never freed.
        let is_new = unsafe { known.as_ref() }.is_none_or(|known| !is_same(known, &before));
        if is_new && !is_ours(&before) {
            let new = Box::into_raw(Box::new(before));
            // Ordering: Release [before] hands its fields to the handler and to the loads here. On
            // failure another thread has just stored what it found, which is the same.
            let stored = BEFORE.compare_exchange(known, new, Ordering::Release, Ordering::Relaxed);
            if stored.is_err() {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }

    fn is_ours(action: &Sigaction) -> bool {
        action.handler == on_fault as *const () as usize
    }

    /// Of what was read from the system: it adds flags of its own.
    fn is_same(one: &Sigaction, other: &Sigaction) -> bool {
        one.handler == other.handler && one.flags == other.flags
    }

    /// Puts back what was there before, unless somebody has set another handler since.
    fn take_handler_away() {
        // SAFETY: as in `set_handler`.
        unsafe {
            let mut now: Sigaction = mem::zeroed();
            if linux::sigaction(linux::SIGSEGV, ptr::null(), &mut now) == 0 && is_ours(&now) {
                step_aside();
            }
        }
    }

    /// Has the fault handled as before there was a handler of ours.
    fn step_aside() {
        // Ordering: Acquire [before], for its fields.
        let before = BEFORE.load(Ordering::Acquire);
        // SAFETY: all-zero is the default action; what is stored came from the system and is never
        // freed.
        unsafe {
            let default: Sigaction = mem::zeroed();
            let before = before.as_ref().unwrap_or(&default);
            linux::sigaction(linux::SIGSEGV, before, ptr::null_mut());
        }
    }

    /// Runs on the thread that has touched what it may not, on the stack for handlers. Allocates
    /// nothing and locks nothing.
    extern "C" fn on_fault(signal: c_int, info: *mut Fault, _: *mut c_void) {
        // SAFETY: the system hands over what it knows of this signal.
        let (is_fault, address) = unsafe { ((*info).code > 0, (*info).address.addr()) };
        let end = END
            .get()
            .filter(|end| is_fault && (end.from..end.to).contains(&address));
        if let Some(end) = end {
            say_full(end.bytes);
        }
        step_aside();
        if !is_fault {
            // Somebody has sent it: it does not come again of itself.
            // SAFETY: the call takes no pointer.
            unsafe { linux::raise(signal) };
        }
    }

    fn say_full(bytes: usize) {
        let mut digits = [0; 20];
        let number = decimal(bytes >> 10, &mut digits);
        let parts: [&[u8]; 3] = [
            b"\nroving: the native stack of a worker is full: ",
            number,
            b" KiB. The limit to raise is `stack_size` of its pool's builder.\n",
        ];
        for part in parts {
            // SAFETY: the part is as long as it says. If nobody reads, it is no matter.
            unsafe { linux::write(2, part.as_ptr().cast(), part.len()) };
        }
    }

    /// The digits of a number, without an allocation.
    fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
        // A divisor that the compiler knows bounds the loop, which it would write out.
        let ten = std::hint::black_box(10);
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % ten) as u8;
            number /= ten;
            if number == 0 {
                return &digits[first..];
            }
        }
    }
}
