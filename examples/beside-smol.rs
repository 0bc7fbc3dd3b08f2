//! Sockets and timers of async-io, on which smol and others are built, in Roving's tasks; and
//! handles of Roving's tasks in an executor of another runtime.
//!
//! ```text
//! cargo run --release --example beside-smol --features smol
//! ```
//!
//! * The clients are tasks of Roving that use async-io's sockets and timers. Nothing has to be set
//!   up: async-io has one thread of its own, which wakes tasks of any runtime.
//! * The server runs on that library's own loop, `async_io::block_on`. It has Roving's workers
//!   compute, and awaits their handles.
#![forbid(unsafe_code)]

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use async_io::{Async, Timer};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{AsyncReadExt, AsyncWriteExt};
use roving::{Pool, map_reduce, task};
use roving_examples::{Failure, Words, beside_serial, random};

const USAGE: &str = "beside-smol [CLIENTS]      1 to 1000, default 8";

/// Long enough for any machine.
const LIMIT: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let clients = words.number("clients", 8, 1..=1000)?;
    words.end()?;
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    let address = listener.get_ref().local_addr()?;
    // It ends with the process.
    thread::spawn(move || async_io::block_on(serve(listener)));
    let numbers: Vec<u64> = (1..=clients).map(|n| 10_000 * n).collect();
    let serial = || numbers.iter().copied().map(sum).collect();
    let parallel = || Pool::global().run(|s| ask_all(s, address, &numbers));
    let sums: Vec<u64> = beside_serial(serial, parallel)?;
    writeln!(out, "{} clients were answered", sums.len())?;
    Ok(())
}

/// The clients, all at once: each is a task that borrows its number.
async fn ask_all(s: task::Scope<'_>, address: SocketAddr, numbers: &[u64]) -> Vec<u64> {
    let ask = |&number| s.spawn(async move { ask(address, number).await.unwrap_or_default() });
    let asked: Vec<_> = numbers.iter().map(ask).collect();
    let mut sums = Vec::new();
    for sum in asked {
        sums.push(sum.await);
    }
    sums
}

/// Asks for a sum, for so long.
async fn ask(address: SocketAddr, number: u64) -> std::io::Result<u64> {
    let answer = Box::pin(async {
        let mut stream = Async::<TcpStream>::connect(address).await?;
        stream.write_all(&number.to_be_bytes()).await?;
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes).await?;
        Ok(u64::from_be_bytes(bytes))
    });
    match select(answer, Timer::after(LIMIT)).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(std::io::ErrorKind::TimedOut.into()),
    }
}

/// Serves all clients on one thread.
async fn serve(listener: Async<TcpListener>) {
    let mut answers = FuturesUnordered::new();
    loop {
        match select(Box::pin(listener.accept()), answers.next()).await {
            Either::Left((Ok((stream, _)), _)) => answers.push(answer(stream)),
            Either::Left((Err(_), _)) => return,
            // A client that hangs up is no news. While there is none, the next one is awaited.
            Either::Right((Some(_), _)) => {}
            Either::Right((None, accept)) => match accept.await {
                Ok((stream, _)) => answers.push(answer(stream)),
                Err(_) => return,
            },
        }
    }
}

async fn answer(mut stream: Async<TcpStream>) -> std::io::Result<()> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes).await?;
    let number = u64::from_be_bytes(bytes);
    let sum = roving::spawn(move || sum(number)).abort_on_drop().await;
    let sum = sum.map_err(std::io::Error::other)?;
    stream.write_all(&sum.to_be_bytes()).await
}

fn sum(number: u64) -> u64 {
    let up_to = usize::try_from(number).unwrap_or(usize::MAX);
    map_reduce(0..up_to, 0, |n| random(n as u64) % 1000, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Instant;

    use super::*;

    #[test]
    fn both_directions() {
        let text = roving_examples::output(program, &["5"]).unwrap();
        assert_eq!(text, "5 clients were answered\n");
    }

    /// One worker: while a task sleeps, the others go on, and each sleeps until all have begun.
    #[test]
    fn timers_wake_tasks_and_hold_no_worker() {
        const TASKS: usize = 100;
        let (pool, begun) = (Pool::new(1).unwrap(), AtomicUsize::new(0));
        let (time, began) = (Duration::from_millis(50), Instant::now());
        let begun = &begun;
        pool.run(|s| async move {
            let sleeps = (0..TASKS).map(|_| {
                s.spawn(async move {
                    begun.fetch_add(1, Relaxed);
                    let mut woken = Timer::after(time).await;
                    while begun.load(Relaxed) < TASKS {
                        woken = Timer::after(time).await;
                    }
                    woken
                })
            });
            for sleep in sleeps.collect::<Vec<_>>() {
                assert!(sleep.await >= began + time);
            }
        });
        assert!(began.elapsed() >= time);
    }

    /// A task that is dropped where it waits for a timer leaves nothing behind that wakes it.
    #[test]
    fn a_cancelled_task_stops_waiting() {
        let cancel = roving::Cancel::after(Duration::from_millis(20));
        let never = || task::block_on(roving::context::until_cancelled(Timer::after(LIMIT)));
        assert!(cancel.run(never).is_err());
    }

    #[test]
    fn errors_reach_another_executor() {
        let fails = || -> u32 { std::panic::resume_unwind(Box::new("on purpose")) };
        let error = async_io::block_on(roving::spawn(fails)).unwrap_err();
        assert!(error.is_panic());
        let pool = Pool::new(1).unwrap();
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let busy = pool.spawn(move || may_go_on.recv().is_err());
        let late = pool.spawn(|| 1);
        late.abort();
        assert!(async_io::block_on(late).unwrap_err().is_cancelled());
        drop(go_on);
        assert!(async_io::block_on(busy).unwrap());
    }

    /// Sockets in a process of a network, too: it waits for the outside.
    #[test]
    fn sockets_and_timers_in_networks() {
        let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let server = thread::spawn(move || {
            async_io::block_on(async {
                let (stream, _) = listener.accept().await.unwrap();
                answer(stream).await.unwrap();
            });
        });
        let mut got = Vec::new();
        let mut network = roving_flow::Network::new();
        let (out, numbers) = network.channel("numbers");
        let (asked, answers) = network.channel("answers");
        network.source("source", out, [100_u64]);
        network.stage_async("ask", 2, numbers, asked, move |number| async move {
            Timer::after(Duration::from_millis(1)).await;
            ask(address, number).await.unwrap()
        });
        network.collect_into("sink", answers, &mut got);
        network.run(&roving::Pool::current()).unwrap();
        server.join().unwrap();
        assert_eq!(got, [sum(100)]);
    }
}
