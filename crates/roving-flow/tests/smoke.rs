//! Small networks, each of which shows one thing.

use roving::Pool;
use roving_flow::{Error, Network, Out};

const MESSAGES: u64 = if cfg!(miri) { 20 } else { 10_000 };

#[test]
fn a_chain_passes_everything_on_in_order() {
    for workers in 1..=4 {
        let pool = Pool::new(workers).unwrap();
        let mut got = Vec::new();
        let mut network = Network::new();
        let (source, mut last) = network.bounded::<u64>("0", 3);
        for stage in 1..20 {
            let (out, next) = network.bounded::<u64>(stage, 3);
            let input = std::mem::replace(&mut last, next);
            network.process(
                format_args!("add {stage}"),
                (input, out),
                async move |(mut input, mut out)| {
                    while let Some(number) = input.recv().await {
                        out.send(number + 1).await.unwrap();
                    }
                },
            );
        }
        network.process("source", source, async |mut out| {
            for number in 0..MESSAGES {
                out.send(number).await.unwrap();
            }
        });
        let into = &mut got;
        network.process("sink", last, |mut input| async move {
            while let Some(number) = input.recv().await {
                into.push(number);
            }
        });
        let report = network.run(&pool).unwrap();
        assert!(got.into_iter().eq(19..MESSAGES + 19));
        assert!(report.channels().all(|one| one.messages == MESSAGES));
    }
}

#[test]
fn a_panic_ends_the_network_and_is_named() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (mut ports, mut first) = (Vec::new(), None);
    for index in 0..5 {
        let (out, input) = network.channel::<u32>(index);
        ports.push(input);
        first.get_or_insert(out);
    }
    network.process("waits", first, async |mut out| {
        // Everybody else's channel is closed, but this one is not told that it is over.
        while let Some(out) = &mut out {
            out.send(1).await.unwrap();
        }
    });
    network.process("bad", ports, async |mut ports| {
        for port in &mut ports {
            port.recv().await;
        }
        panic!("on purpose");
    });
    match network.run(&pool).unwrap_err() {
        Error::Panicked { process, payload } => {
            assert_eq!(process, "bad");
            assert_eq!(payload.to_string(), "on purpose");
        }
        other => panic!("{other}"),
    }
}

/// Most programs pass errors on in a box that can be shared.
#[test]
fn an_error_is_one_that_programs_can_pass_on() {
    fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut network = Network::new();
        network.process("bad", (), async |()| std::panic::panic_any(7));
        network.run(&Pool::current())?;
        Ok(())
    }
    let text = run().unwrap_err().to_string();
    assert_eq!(text, "process `bad` panicked: a value that is no text");
}

/// A library that runs a network starts no threads: it runs where its caller does.
#[test]
fn a_network_runs_on_the_pool_that_one_is_in() {
    fn names() -> Vec<String> {
        let mut names = Vec::new();
        let mut network = Network::new();
        let (out, input) = network.channel("names");
        network.process("asks", out, async |mut out: Out<String>| {
            for _ in 0..10 {
                let name = std::thread::current().name().unwrap_or_default().to_owned();
                let _ = out.send(name).await;
            }
        });
        network.collect_into("keeps", input, &mut names);
        network.run(&Pool::current()).unwrap();
        names
    }
    for workers in [1, 2] {
        let pool = Pool::builder().workers(workers).name("own").build();
        let names = pool.unwrap().install(names);
        assert_eq!(names.len(), 10);
        assert!(
            names.iter().all(|name| name.starts_with("own")),
            "{names:?}"
        );
    }
    assert_eq!(names().len(), 10, "on the global pool");
}

/// While a process is in a loop of which other workers have parts, the others go on.
#[test]
fn processes_loop() {
    const ITEMS: u64 = if cfg!(miri) { 20 } else { 300 };
    let pool = Pool::new(3).unwrap();
    for _ in 0..if cfg!(miri) { 2 } else { 20 } {
        let mut sums = Vec::new();
        let mut network = Network::new();
        let mut last = None;
        for stage in 0..4_u64 {
            let (out, next) = network.bounded::<u64>(stage, 1);
            let input = last.replace(next);
            network.process(
                format_args!("stage {stage}"),
                (input, out),
                async |(input, mut out)| {
                    let mut input: Option<roving_flow::In<u64>> = input;
                    for round in 0..5 {
                        let before = match &mut input {
                            Some(input) => input.recv().await.unwrap(),
                            None => round,
                        };
                        let at = |index: usize| {
                            if index % 64 == 0 {
                                std::thread::sleep(std::time::Duration::from_micros(20));
                            }
                            before
                        };
                        let sum = roving::map_reduce(0..ITEMS as usize, 0, at, |a, b| a + b);
                        out.send(sum).await.unwrap();
                    }
                },
            );
        }
        let into = &mut sums;
        network.process("sink", last.unwrap(), |mut last| async move {
            while let Some(sum) = last.recv().await {
                into.push(sum);
            }
        });
        network.run(&pool).unwrap();
        let times = ITEMS.pow(4);
        assert_eq!(sums, [0, times, 2 * times, 3 * times, 4 * times]);
    }
}
