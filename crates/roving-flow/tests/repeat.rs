//! Networks that run again.

use roving::{Cancel, Pool};
use roving_flow::{Error, In, Network, Out};

/// The numbers that it reads, and those that come out.
type Job = (Vec<u32>, Vec<u32>);

/// A stage whose processes are told to begin only after the first batch was sent: its channel must
/// hold the batch.
fn doubles<'job>(network: &mut Network<'job>, (from, to): &'job mut Job) {
    let (out, numbers) = network.bounded("numbers", 1);
    let (double, results) = network.bounded("doubles", 1);
    let (go, may_go) = network.bounded::<()>("go", 1);
    let (held, late) = network.bounded("late", 1);
    network.source("read", out, from.iter().copied());
    network.stage("double", 2, numbers, double, |number: u32| number * 2);
    network.process(
        "first all",
        (results, held, go),
        async |(mut results, mut held, mut go): (In<u32>, Out<u32>, Out<()>)| {
            while let Some(number) = results.recv().await {
                held.send(number).await.unwrap();
            }
            go.send(()).await.unwrap();
        },
    );
    network.process(
        "then take",
        (late, may_go),
        move |(mut late, mut may_go): (In<u32>, In<()>)| async move {
            may_go.recv().await;
            while let Some(number) = late.recv().await {
                to.push(number);
            }
        },
    );
}

#[test]
fn the_second_run_has_the_capacities_that_the_first_one_found() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::repeat(doubles);
        for (run, length) in [20, 20, 5, 50].into_iter().enumerate() {
            let mut job = ((0..length).collect(), Vec::new());
            let report = network.run(&pool, &mut job).unwrap();
            assert!(job.1.into_iter().eq((0..length).map(|number| 2 * number)));
            // The last job is longer than any before.
            let grew = report.growths.iter().any(|one| one.channel == 3);
            assert_eq!(
                grew,
                run == 0 || run == 3,
                "run {run}: {:?}",
                report.growths
            );
        }
        assert_eq!(network.runs(), 4);
    }
}

/// It runs again after an error, a panic, a deadlock and a request to stop, and a job can be
/// another network: then the capacities found before do not count.
#[test]
fn it_runs_again_whatever_came_of_it() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::repeat(|network, job: &mut u32| match *job {
        0 => network.process("panics", (), async |()| panic!("as asked")),
        1 => network.try_process("fails", (), async |()| Err("as asked")),
        2 => {
            let (out, input) = network.channel::<u32>("to itself");
            network.process(
                "waits",
                (out, input),
                async |(_out, mut input): (Out<u32>, In<_>)| {
                    input.recv().await;
                },
            );
        }
        _ => {
            let (out, input) = network.bounded("other", 1);
            network.source("read", out, 0..*job);
            network.sink("write", input, |_| *job -= 1);
        }
    });
    assert!(matches!(
        network.run(&pool, &mut 0),
        Err(Error::Panicked { .. })
    ));
    assert!(matches!(
        network.run(&pool, &mut 1),
        Err(Error::Failed { .. })
    ));
    assert!(matches!(
        network.run(&pool, &mut 2),
        Err(Error::Deadlock { .. })
    ));
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = cancel.run_partial(|| network.run(&pool, &mut 2).map(drop));
    assert!(stopped.is_err());
    let mut left = 30;
    network.run(&pool, &mut left).unwrap();
    assert_eq!(left, 0);
}
