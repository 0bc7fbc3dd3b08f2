//! A Rust program with C in it: tasks of both on one stack, and what comes of panics between them.
#![cfg_attr(has_c, expect(unsafe_code, reason = "calls C"))]

#[cfg(not(has_c))]
#[test]
fn c_and_rust_on_one_stack() {
    eprintln!("skipped: there was no C compiler (cc, or CC) when this was built");
}

#[cfg(has_c)]
mod with_c {
    use std::ffi::{CStr, c_char, c_int, c_uint};
    use std::process::Command;

    use roving_c as _;

    unsafe extern "C-unwind" {
        fn mixed_fib(n: c_uint) -> u64;
        fn mixed_panic(count: *mut c_uint) -> c_int;
        fn mixed_kept(status: *mut c_int) -> u64;
        fn mixed_abort() -> c_int;
        fn mixed_stolen() -> c_int;
        fn roving_error_detail() -> *const c_char;
    }

    #[unsafe(no_mangle)]
    extern "C-unwind" fn rust_fib(n: c_uint) -> u64 {
        // SAFETY: it takes any number.
        let (a, b) = roving::join(
            || unsafe { mixed_fib(n - 1) },
            || unsafe { mixed_fib(n - 2) },
        );
        a + b
    }

    #[unsafe(no_mangle)]
    extern "C-unwind" fn rust_panic() {
        panic!("from Rust, below C");
    }

    #[test]
    fn c_and_rust_on_one_stack() {
        for workers in 1..=4 {
            for slots in [1, 7, 8000] {
                let builder = roving::Pool::builder().workers(workers).assume_cores(4);
                let pool = builder.task_slots(slots).profile(true).build().unwrap();
                // SAFETY: it takes any number.
                let found = pool.install(|| unsafe { mixed_fib(21) });
                assert_eq!(found, 10946);
                let tasks = pool.profile().total().counters.tasks;
                assert!(tasks > 0, "both sides push");
                // One task a call that is no leaf, if there is room for it.
                assert!(slots < 8000 || tasks == 17710, "{tasks}");
            }
        }
    }

    #[test]
    fn a_panic_below_a_scope_of_c_is_an_error_code() {
        let mut count = 0;
        let pool = roving::Pool::new(2).unwrap();
        let status = pool.install(|| {
            // SAFETY: a number to count in.
            unsafe { mixed_panic(&raw mut count) }
        });
        assert_eq!(
            (status, count),
            (3, 99),
            "ROVING_PANIC, when all others have ended"
        );
        let detail = pool.install(|| {
            // SAFETY: a string, until the thread's next failure; the pool's threads may differ.
            let text = unsafe { CStr::from_ptr(roving_error_detail()) };
            text.to_string_lossy().into_owned()
        });
        assert!(
            ["", "from Rust, below C"].contains(&detail.as_str()),
            "{detail}"
        );
    }

    #[test]
    fn a_panic_leaves_no_result_to_the_next_sync() {
        let pool = roving::Pool::builder().workers(1).task_slots(1);
        let mut status = 0;
        let found = pool.build().unwrap().install(|| {
            // SAFETY: a place for the status.
            unsafe { mixed_kept(&raw mut status) }
        });
        assert_eq!((status, found), (3, 21 + 1));
    }

    /// Runs a test of this program again, in a process that it ends. What that says last.
    fn ended_by(test: &str) -> String {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env(ABORTS, "1")
            .args(["--nocapture", "--exact", test]);
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Set for a process that is to be ended.
    const ABORTS: &str = "ROVING_TEST_ABORT";

    #[test]
    fn a_panic_that_leaves_tasks_behind_ends_the_process() {
        if std::env::var_os(ABORTS).is_some() {
            // SAFETY: it ends the process.
            unsafe { mixed_abort() };
            return;
        }
        let told = ended_by("with_c::a_panic_that_leaves_tasks_behind_ends_the_process");
        assert!(
            told.contains("had spawned tasks and not synced them"),
            "{told}"
        );
    }

    #[test]
    fn a_panic_of_a_stolen_task_of_c_ends_the_process() {
        if std::env::var_os(ABORTS).is_some() {
            // SAFETY: it ends the process.
            unsafe { mixed_stolen() };
            return;
        }
        let told = ended_by("with_c::a_panic_of_a_stolen_task_of_c_ends_the_process");
        assert!(told.contains("the end of a stolen task"), "{told}");
    }
}
