//! A network that only waits for a port which is held outside says so, or is refused.

use std::sync::mpsc;
use std::time::Duration;

use roving::Pool;
use roving_flow::{Error, In, Network, Out};

/// A thread holds the sender and sends nothing until the report has come: then the network ends as
/// if it had not been watched.
#[test]
fn a_port_held_outside_is_named_after_a_while() {
    if !cfg!(debug_assertions) {
        return;
    }
    let (told, reports) = mpsc::channel();
    roving::watch::on_report(move |text| drop(told.send(text.to_owned())));
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (mut out, numbers) = network.channel("numbers");
    let (doubled, mut doubles) = network.bounded("doubles", 1);
    network.process(
        "double",
        (numbers, doubled),
        async |(mut numbers, mut doubled): (In<u32>, Out<u32>)| {
            while let Some(number) = numbers.recv().await {
                doubled.send(number * 2).await.unwrap();
            }
        },
    );
    std::thread::scope(|s| {
        let network = s.spawn(|| network.run(&pool));
        let text = reports.recv_timeout(Duration::from_secs(300)).unwrap();
        assert!(
            text.contains("process `double` waits for a message in `numbers`"),
            "{text}"
        );
        assert!(text.contains("sending port is held outside"), "{text}");
        out.send_blocking(21).unwrap();
        drop(out);
        assert_eq!(doubles.recv_blocking(), Some(42));
        let report = network.join().unwrap().unwrap();
        assert_eq!(report.channel(0).messages, 1);
    });
    // Once a run.
    assert!(reports.try_recv().is_err());
}

#[test]
fn a_closed_network_is_refused_where_a_port_is_held() {
    let pool = Pool::new(1).unwrap();
    let refused = |network: Network<'_>| match network.run(&pool) {
        Err(Error::Invalid { message }) => message,
        other => panic!("{other:?}"),
    };

    let mut network = Network::new();
    network.closed();
    let (out, _held) = network.channel("letters");
    network.source("source", out, "abc".chars());
    let text = refused(network);
    assert!(
        text.contains("the receiving port of `letters` is held outside"),
        "{text}"
    );

    // Captured, and not given.
    let mut network = Network::new();
    network.closed();
    let (mut out, input) = network.channel("letters");
    network.process("source", (), async move |()| {
        out.send('a').await.unwrap();
    });
    network.sink("sink", input, |_| {});
    let text = refused(network);
    assert!(text.contains("the sending port of `letters`"), "{text}");
}

#[test]
fn a_closed_network_runs_where_ports_are_given_or_dropped() {
    let (pool, mut got) = (Pool::new(1).unwrap(), String::new());
    let mut network = Network::new();
    network.closed();
    let (out, input) = network.channel("letters");
    let (_, nobody) = network.channel::<char>("nobody sends");
    network.source("source", out, "abc".chars());
    network.collect_into("sink", input, &mut got);
    network.sink("silent", nobody, |_| {});
    network.run(&pool).unwrap();
    assert_eq!(got, "abc");
}
