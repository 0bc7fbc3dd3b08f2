//! Memory that a device has lent to another one for a copy: it is free when that has ended.

mod common;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::card::Card;
use common::numbers::{ADD_ONE, BYTES, LEN, OTHER, STEP, add, buffer};
use common::{Known, SAMPLES, Times, soon, within};
use roving_gpu::backend::PeerCopy;
use roving_gpu::{Arg, Choice, Devices, Dual, Writes};

/// The copy from one device to the other, which ends when the test says so.
static COPY: Mutex<Option<PeerCopy>> = Mutex::new(None);

/// The small device has the numbers that a task copies to the large one. The host gets them, too,
/// and a task waits for the room that they have on the small one.
#[test]
fn who_needs_the_room_of_what_was_lent_finds_it_free() {
    within("lent memory".to_owned(), || {
        let card = |buffers: u64| {
            let bytes = buffers * BYTES;
            Card {
                streams: 2,
                copies: Some(&COPY),
                ..Card::new(format!("card of {bytes}"), bytes)
            }
        };
        let builder = Devices::builder().backend(card(1)).backend(card(8));
        // So what both can do is the small one's.
        let known = [("card of 16", 1e-6), ("card of 128", 1e3)];
        let known = known.map(|(card, mean)| Known::of(card, SAMPLES, mean));
        let times = Times::of("lent-memory", &STEP, &known);
        let builder = builder.choice(Choice::Gpu).writes(Writes::Back);
        let devices = builder.history(times.path()).build().unwrap();
        let lent = buffer();
        add(&devices, &STEP, &ADD_ONE, &lent);
        assert_eq!(devices.profile().devices[0].tasks, 1);
        let new = buffer();
        thread::scope(|scope| {
            scope.spawn(|| {
                let large = [(); 2].map(|()| buffer());
                let task = Dual::new(&OTHER, &[LEN]).reads(&lent);
                let task = task.updates(&large[0]).updates(&large[1]);
                let task = task.gpu(async |gpu| {
                    let all = [Arg::read(&lent), Arg::update(&large[0])];
                    gpu.launch(&ADD_ONE, [1, 1, 1], &all).await
                });
                task.run(&devices).unwrap();
            });
            soon("the copy has begun", || COPY.lock().unwrap().is_some());
            assert_eq!(lent.read()[..], [2; LEN]);
            let waits = scope.spawn(|| {
                let task = Dual::new(&STEP, &[LEN]).updates(&new);
                let task = task.gpu(async |gpu| {
                    assert_eq!(gpu.device(), "card of 16");
                    gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&new)]).await
                });
                task.run(&devices)
            });
            thread::sleep(Duration::from_millis(50));
            assert!(!waits.is_finished());
            let copy = COPY.lock().unwrap().take().unwrap();
            copy.done(Ok(Duration::ZERO));
            waits.join().unwrap().unwrap();
        });
    });
}
