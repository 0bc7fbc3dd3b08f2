//! Tasks of extreme sizes, and times that no task can take.

mod common;

use common::numbers::{ADD_ONE, LEN, STEP, buffer};
use common::{Known, SAMPLES, Times, within};
use roving_gpu::{Arg, Choice, Devices, Dual, Simulated};

/// Runs a task on the device with as much work as that, and a small one after it.
fn runs(name: &'static str, samples: u32, seconds: f64, work: f64) {
    within(format!("{name}, {work:e}"), move || {
        let known = ["simulated", "cpu"].map(|side| Known::of(side, samples, seconds));
        let times = Times::of(name, &STEP, &known);
        for choice in [Choice::Gpu, Choice::Auto] {
            let devices = Devices::builder().backend(Simulated::new()).choice(choice);
            let devices = devices.history(times.path()).build().unwrap();
            assert!(devices.profile().reports.is_empty());
            for work in [work, 1.0] {
                let numbers = buffer();
                Dual::new(&STEP, &[LEN])
                    .work(work)
                    .updates(&numbers)
                    .cpu(|| numbers.write().iter_mut().for_each(|x| *x += 1))
                    .gpu(async |gpu| {
                        gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&numbers)])
                            .await
                    })
                    .run(&devices);
                assert_eq!(numbers.into_vec(), [2; LEN]);
            }
            devices.wait();
        }
    });
}

/// A time that is as long as the work says is more than a clock can tell.
#[test]
fn a_task_of_more_work_than_ever_ends_is_run() {
    for work in [1e21, 1e30, f64::MAX] {
        runs("much", SAMPLES, 1e-2, work);
    }
}

#[test]
fn times_that_nothing_can_have_taken_are_harmless() {
    for seconds in [f64::MAX, 1e19] {
        runs("long", SAMPLES, seconds, 1.0);
    }
}
