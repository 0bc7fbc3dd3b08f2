//! Programs that the other library need not run to their end, or in whose memory it keeps more.

use std::thread;

use super::running::{SETTINGS, Setting, build, build_named, compiler, gcc, knows};
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

/// Where nothing is kept for good, memory does not grow with the turns of a loop.
fn stays(part: &str, settings: &[Setting], parts: &[&str]) {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    // Each test has one of its own: it builds it.
    let program = build_named(
        gcc,
        &["-O1", "-pthread"],
        "growth.c",
        &format!("growth-{part}"),
    );
    let told: String = parts
        .iter()
        .map(|part| format!("{part}: stays\n"))
        .collect();
    says(&program, Some(part), settings, &told);
}

#[test]
fn dependences_on_tasks_that_are_over_take_no_memory() {
    stays("depend", &[], &["readers", "places", "waited"]);
}

#[test]
fn settings_that_are_set_again_and_again_take_no_memory() {
    let parts = ["of threads", "in a region", "in a group", "in a task"];
    stays("settings", &[], &parts);
}

#[test]
fn reductions_of_tasks_in_cancelled_regions_take_no_memory() {
    stays("cancelled", &[("OMP_CANCELLATION", "true")], &["cancelled"]);
}

#[test]
fn threads_that_use_openmp_at_their_end_alone_take_no_memory() {
    stays("threads", &[], &["threads", "regions"]);
}

#[test]
fn who_yields_lets_others_have_its_tasks() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "yields.c");
    says(&program, None, &[], "left: 0\n");
}

#[test]
fn who_waits_for_a_turn_or_a_lock_lets_others_have_its_tasks() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "shown.c");
    let ends = |part: &str, settings: &[Setting]| {
        says(&program, Some(part), settings, "it has ended\n");
    };
    // They mostly sleep. The last two are barriers, where the thread runs its tasks itself.
    thread::scope(|s| {
        for part in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"] {
            s.spawn(move || ends(part, &[]));
        }
    });
    // Threads that never sleep.
    for part in ["0", "5"] {
        ends(part, &[("GOMP_SPINCOUNT", "infinite")]);
    }
}

#[test]
fn who_is_many_constructs_ahead_waits_for_nobody() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "ahead.c");
    for settings in SETTINGS {
        // It is asked for three threads.
        says(&program, None, settings, "it has ended\n");
    }
    // Where the time for each grew with how many there are, it would not end in time.
    says(&program, Some("far"), &[], "100000\n");
}

#[test]
fn a_field_may_be_asked_for_that_is_wider_than_memory() {
    let Some(gcc) = gcc() else { return };
    let program = build_named(gcc, &["-O1"], "yields.c", "widths");
    says(
        &program,
        Some("widths"),
        &[],
        "1 0      \n1 0      \n1 0|\n1 000|\n",
    );
}

#[test]
fn who_is_late_to_leave_a_region_takes_part_in_nothing_after_it() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1", "-pthread"], "late.c");
    let passive = [("OMP_WAIT_POLICY", "passive")];
    let expected = "6400 ran, 0 outside of the region\n";
    says(&program, Some("next"), &passive, expected);
    let expected = "6400 ran, 0 of another team\n";
    says(&program, Some("team"), &passive, expected);
    // Stacks of that size are unmapped as soon as their thread has ended.
    let stack = [("OMP_STACKSIZE", "64M")];
    says(&program, Some("end"), &stack, "all have ended\n");
}

#[test]
fn what_a_task_gets_stays_where_it_was_copied() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "copied.c");
    // Memory that was freed is written over.
    let settings = [("MALLOC_PERTURB_", "85")];
    says(&program, None, &settings, "0 wrong\n");
}

#[test]
fn nothing_is_copied_for_a_task_that_is_left_out() {
    let Some(compiler) = compiler("ROVING_GXX", &["g++"], "probe.cpp") else {
        eprintln!("skipped: g++ with OpenMP is not installed");
        return;
    };
    let program = build(&compiler, &["-O1"], "left_out.cpp");
    let settings = [("OMP_CANCELLATION", "true")];
    says(&program, None, &settings, "1 alive\n");
}

#[test]
fn who_waits_for_some_of_its_children_runs_no_others() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1"], "some.c");
    let parts = [
        "wait",
        "undeferred",
        "final",
        "group",
        "group in group",
        "nested",
        "event",
        "events",
        "events alone",
        "events undeferred",
        "events undeferred alone",
        "events group",
        "events group alone",
        "left",
        "group elsewhere",
        "event elsewhere",
    ];
    let expected: String = parts.map(|part| format!("{part}: 0 wrong\n")).concat();
    for settings in [&[][..], &[("OMP_WAIT_POLICY", "passive")]] {
        says(&program, None, settings, &expected);
    }
}
