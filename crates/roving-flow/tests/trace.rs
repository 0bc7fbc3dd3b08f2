//! Traces of networks bear the names of their processes.

use roving::Pool;
use roving_flow::Network;

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn a_trace_names_the_processes_whose_turns_it_shows() {
    let file = std::env::temp_dir().join(format!("roving-flow-{}.json", std::process::id()));
    let pool = Pool::builder().workers(2).trace(&file).build().unwrap();
    let mut sum = 0;
    let mut network = Network::new();
    let (out, input) = network.bounded::<u64>("numbers", 2);
    network.process("source \"of numbers\"", out, async |mut out| {
        for number in 0..100 {
            out.send(number).await.unwrap();
        }
    });
    let into = &mut sum;
    network.process("sink", input, |mut input| async move {
        while let Some(number) = input.recv().await {
            *into += number;
        }
    });
    network.run(&pool).unwrap();
    drop(pool);
    assert_eq!(sum, 4_950);
    let text = std::fs::read_to_string(&file).expect("the trace was written");
    std::fs::remove_file(&file).expect("it can be removed");
    for name in ["source \\\"of numbers\\\"", "sink"] {
        let span = format!("\"name\":\"{name}\",\"cat\":\"span\"");
        assert!(text.contains(&span), "no {span}");
    }
}
