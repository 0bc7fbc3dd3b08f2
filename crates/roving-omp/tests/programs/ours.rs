//! Programs that the other library need not run to their end, or in whose memory it keeps more.

use super::running::{build, gcc, knows};
use super::says;

/// Each of them ends: what brings the event can run on one of the two threads.
#[test]
fn waits_end_by_what_their_own_thread_can_run() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1"], "waits.c");
    let settings = [("OMP_NUM_THREADS", "2")];
    for part in ["0", "1", "2", "3", "4"] {
        says(&program, Some(part), &settings, "it has ended\n");
    }
    says(&program, Some("5"), &settings, "0 wrong\nit has ended\n");
}
