//! Tokio and Roving beside each other, in both directions.
//!
//! ```text
//! cargo run --release --example beside-tokio --features server
//! ```
//!
//! * A server of tokio has Roving's workers compute, and awaits their handles: its one thread is
//!   free meanwhile. A client that is gone drops the handle, and with it what nobody has begun.
//! * The clients are tasks of Roving that use tokio's sockets and timeouts. These look for a
//!   runtime on the thread that polls them, so each worker enters one when it starts.
#![forbid(unsafe_code)]

use std::io::Write;
use std::mem;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use roving::{Pool, map_reduce, task};
use roving_examples::{Failure, Words, beside_serial, random};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time;

const USAGE: &str = "beside-tokio [CLIENTS]      1 to 1000, default 8";

/// Long enough for any machine.
const LIMIT: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let clients = words.number("clients", 8, 1..=1000)?;
    words.end()?;
    let tokio = runtime()?;
    let pool = pool_in(tokio.handle())?;
    let address = tokio.block_on(start())?;
    let numbers: Vec<u64> = (1..=clients).map(|n| 10_000 * n).collect();
    let serial = || numbers.iter().copied().map(sum).collect();
    let parallel = || pool.run(|s| ask_all(s, address, &numbers));
    let sums: Vec<u64> = beside_serial(serial, parallel)?;
    writeln!(out, "{} clients were answered", sums.len())?;
    Ok(())
}

/// A runtime of tokio with a thread of its own, which drives sockets and timers.
fn runtime() -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    Ok(builder.worker_threads(1).enable_all().build()?)
}

/// A pool whose workers are in that runtime's context for as long as they live.
fn pool_in(tokio: &Handle) -> Result<Pool, Failure> {
    let tokio = tokio.clone();
    let builder = Pool::builder().on_start(move |_| mem::forget(tokio.enter()));
    Ok(builder.build()?)
}

/// The clients, all at once: each is a task that borrows its number.
async fn ask_all(s: task::Scope<'_>, address: SocketAddr, numbers: &[u64]) -> Vec<u64> {
    let asked: Vec<_> = numbers
        .iter()
        .map(|&number| s.spawn(async move { ask(address, number).await.unwrap_or_default() }))
        .collect();
    let mut sums = Vec::new();
    for sum in asked {
        sums.push(sum.await);
    }
    sums
}

async fn ask(address: SocketAddr, number: u64) -> std::io::Result<u64> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_u64(number).await?;
    time::timeout(LIMIT, stream.read_u64()).await?
}

/// Starts the server, which ends with the runtime.
async fn start() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that hangs up is no news.
            tokio::spawn(async move { drop(answer(stream).await) });
        }
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let number = stream.read_u64().await?;
    let computed = roving::spawn(move || sum(number)).abort_on_drop().await;
    match computed {
        Ok(sum) => stream.write_u64(sum).await,
        Err(error) => Err(std::io::Error::other(error)),
    }
}

fn sum(number: u64) -> u64 {
    let up_to = usize::try_from(number).unwrap_or(usize::MAX);
    map_reduce(0..up_to, 0, |n| random(n as u64) % 1000, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions() {
        let text = roving_examples::output(program, &["5"]).unwrap();
        assert_eq!(text, "5 clients were answered\n");
    }

    /// The only thread of tokio is free while it awaits a handle.
    #[test]
    fn a_handle_blocks_no_thread_of_tokio() {
        let tokio = Builder::new_current_thread().enable_all().build().unwrap();
        let (go_on, may_go_on) = std::sync::mpsc::channel();
        let pool = Pool::new(1).unwrap();
        let waits = pool.spawn(move || may_go_on.recv().is_ok());
        let sent = tokio.block_on(async move {
            let other = tokio::spawn(async move { go_on.send(()).is_ok() });
            waits.await.unwrap() && other.await.unwrap()
        });
        assert!(sent);
    }

    #[test]
    fn errors_reach_tasks_of_tokio() {
        let tokio = Builder::new_current_thread().build().unwrap();
        let fails = || -> u32 { std::panic::resume_unwind(Box::new("on purpose")) };
        let error = tokio.block_on(roving::spawn(fails)).unwrap_err();
        assert!(error.is_panic());
        let pool = Pool::new(1).unwrap();
        let late = pool.install(|| {
            let late = roving::spawn(|| 1);
            late.abort();
            late
        });
        assert!(tokio.block_on(late).unwrap_err().is_cancelled());
        // A task that is dropped while it waits drops the handle.
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let busy = pool.spawn(move || may_go_on.recv().is_err());
        let waits = pool.spawn(|| 2);
        tokio.block_on(async {
            let task = tokio::spawn(waits);
            tokio::task::yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
        drop(go_on);
        assert!(busy.join().unwrap());
    }

    #[test]
    fn timers_of_tokio_wake_tasks() {
        let tokio = runtime().unwrap();
        let pool = pool_in(tokio.handle()).unwrap();
        let over = pool.run(|_| async {
            time::sleep(Duration::from_millis(1)).await;
            time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await
        });
        assert!(over.is_err());
        // Compensation threads are in it as well.
        let here = pool.install(|| {
            let (sender, receiver) = std::sync::mpsc::channel();
            (0..8).for_each(|_| {
                let sender = sender.clone();
                drop(roving::spawn(move || {
                    sender.send(Handle::try_current().is_ok())
                }));
            });
            drop(sender);
            roving::blocking(|| receiver.iter().all(|is_there| is_there))
        });
        assert!(here);
    }
}
