//! The row about servers: requests that compute, at twice what the cores can do, on loopback.
//!
//! A server on one thread of tokio has each request computed elsewhere: by `Pool::try_spawn`, by
//! tokio's `spawn_blocking`, or by rayon with a oneshot channel back. As many may wait in each of
//! them; what goes beyond is refused at once. The clients send at their rate whatever comes back,
//! and a latency counts from when a request was due, so that one that is held up counts as well.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use roving::{Pool, Priority};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep_until, timeout};

use super::Scale;
use super::record::{Bound::AtMost, RowRecord};
use crate::io::input::CommandFailure;
use crate::machine::cores;

/// The processor time of a long request, and of a short one.
const LONG: Duration = Duration::from_millis(1);
const SHORT: Duration = Duration::from_micros(20);
/// One request in so many is short.
const SHORT_EVERY: usize = 10;
/// How many times what the cores can do is asked for.
const OVERLOAD: u32 = 2;
/// So many may wait for each core.
const WAITING: usize = 8;
/// So many clients, each with a connection.
const CLIENTS: usize = 64;
/// After so long an answer counts as lost.
const LIMIT: Duration = Duration::from_secs(30);

const DONE: u8 = 1;
const REFUSED: u8 = 2;

/// Who computes.
#[derive(Clone)]
enum Computes {
    /// With the class of short requests.
    Roving(Arc<Pool>, Priority),
    Tokio(Arc<Semaphore>),
    Rayon(Arc<rayon::ThreadPool>, Arc<Semaphore>),
}

/// The answers that the clients have had.
#[derive(Default)]
struct ClientAnswers {
    sent: usize,
    done: usize,
    refused: usize,
    /// Of the short requests that were done, in seconds.
    latencies: Vec<f64>,
}

/// Measures each way in turn, some times over.
pub(super) fn server(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let failed = |error: &dyn std::fmt::Display| CommandFailure::Run(format!("server: {error}"));
    let steps = steps_of(LONG);
    let requests = if scale.quick { 200 } else { 6000 };
    let mut ways: Vec<(&str, ClientAnswers)> = Vec::new();
    for round in 0..scale.rounds(5) {
        for (index, (name, computes)) in ways_to_compute()
            .map_err(|e| failed(&e))?
            .into_iter()
            .enumerate()
        {
            let seen = one_load(computes, requests, steps).map_err(|error| failed(&error))?;
            if round == 0 {
                ways.push((name, ClientAnswers::default()));
            }
            let all = &mut ways[index].1;
            all.sent += seen.sent;
            all.done += seen.done;
            all.refused += seen.refused;
            all.latencies.extend(seen.latencies);
        }
    }
    let mut record = RowRecord::default();
    let mut tails = Vec::new();
    for (name, seen) in &mut ways {
        seen.latencies.sort_by(f64::total_cmp);
        let mut add = |what: &str, unit, value| {
            record.single(&format!("{what}, {name}, {} workers", cores()), unit, value);
        };
        add(
            "short requests, median latency",
            "ms",
            1e3 * quantile(&seen.latencies, 0.5),
        );
        add(
            "short requests, 99th percentile",
            "ms",
            1e3 * quantile(&seen.latencies, 0.99),
        );
        add(
            "requests refused",
            "%",
            100.0 * seen.refused as f64 / seen.sent as f64,
        );
        add(
            "requests lost",
            "",
            (seen.sent - seen.done - seen.refused) as f64,
        );
        tails.push(quantile(&seen.latencies, 0.99));
    }
    let lost: usize = ways
        .iter()
        .map(|(_, seen)| seen.sent - seen.done - seen.refused)
        .sum();
    record.claim("requests lost", "", lost as f64, AtMost(0.0), None);
    let rivals = tails[2..].iter().copied().fold(f64::INFINITY, f64::min);
    record.claim(
        "99th percentile of short requests over the best rival's",
        "×",
        tails[0] / rivals,
        AtMost(1.1),
        AtMost(0.9),
    );
    Ok(record)
}

/// Ours first, then the rivals.
fn ways_to_compute() -> io::Result<Vec<(&'static str, Computes)>> {
    let waiting = WAITING * cores();
    let pool = Pool::builder()
        .workers(cores())
        .queue_limit(waiting)
        .build();
    let pool = Arc::new(pool.map_err(io::Error::other)?);
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(cores()).build();
    let rayon = Arc::new(rayon.map_err(io::Error::other)?);
    // These count what runs as well.
    let places = || Arc::new(Semaphore::new(waiting + cores()));
    Ok(vec![
        (
            "roving",
            Computes::Roving(Arc::clone(&pool), Priority::Normal),
        ),
        (
            "roving, short ones first",
            Computes::Roving(pool, Priority::High),
        ),
        ("tokio, spawn_blocking", Computes::Tokio(places())),
        ("rayon and oneshot", Computes::Rayon(rayon, places())),
    ])
}

impl Computes {
    /// Has so many steps computed. False if too many wait.
    async fn compute(&self, steps: u64, is_short: bool) -> bool {
        let work = move || spin(steps);
        match self {
            Computes::Roving(pool, class) => {
                let class = if is_short { *class } else { Priority::Normal };
                match pool.try_spawn_with(class, work) {
                    Ok(task) => task.await.is_ok(),
                    Err(_) => false,
                }
            }
            Computes::Tokio(places) => match Arc::clone(places).try_acquire_owned() {
                Ok(place) => {
                    let task = tokio::task::spawn_blocking(move || (work(), drop(place)));
                    task.await.is_ok()
                }
                Err(_) => false,
            },
            Computes::Rayon(rayon, places) => match Arc::clone(places).try_acquire_owned() {
                Ok(place) => {
                    let (sender, receiver) = oneshot::channel();
                    rayon.spawn(move || {
                        let value = work();
                        drop(place);
                        let _ = sender.send(value);
                    });
                    receiver.await.is_ok()
                }
                Err(_) => false,
            },
        }
    }
}

/// Starts a server and sends it requests at the rate; returns when all are answered or lost.
fn one_load(computes: Computes, requests: usize, steps: u64) -> io::Result<ClientAnswers> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = || Builder::new_current_thread().enable_all().build();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = runtime()?;
    let serving = thread::spawn(move || {
        server.block_on(async {
            let serving = tokio::spawn(serve(listener, computes, steps));
            let _ = stopped.await;
            serving.abort();
        });
        // What was spawned and is waited for by nobody any more ends by itself.
        server.shutdown_background();
    });
    let seen = runtime()?.block_on(load(address, requests));
    drop(stop);
    let _ = serving.join();
    seen
}

async fn serve(listener: std::net::TcpListener, computes: Computes, steps: u64) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let computes = computes.clone();
        tokio::spawn(async move { answer_all(stream, computes, steps).await });
    }
}

/// Answers the requests of one client, one after the other, until it hangs up.
async fn answer_all(mut stream: TcpStream, computes: Computes, steps: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let short = steps * SHORT.as_micros() as u64 / LONG.as_micros() as u64;
    loop {
        let is_short = stream.read_u8().await? == 1;
        let steps = if is_short { short } else { steps };
        let is_done = computes.compute(steps, is_short).await;
        stream
            .write_u8(if is_done { DONE } else { REFUSED })
            .await?;
    }
}

async fn load(address: SocketAddr, requests: usize) -> io::Result<ClientAnswers> {
    let start = Instant::now() + Duration::from_millis(50);
    // So long between two requests that the cores could do one in `OVERLOAD` of them.
    let step = LONG / (cores() as u32 * OVERLOAD);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(ask(address, client, requests, start, step)))
        .collect();
    let mut all = ClientAnswers::default();
    for client in clients {
        let seen = client.await.map_err(io::Error::other)??;
        all.sent += seen.sent;
        all.done += seen.done;
        all.refused += seen.refused;
        all.latencies.extend(seen.latencies);
    }
    Ok(all)
}

/// One client sends each of its requests when that is due, or as soon as the one before has been
/// answered.
async fn ask(
    address: SocketAddr,
    client: usize,
    requests: usize,
    start: Instant,
    step: Duration,
) -> io::Result<ClientAnswers> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut seen = ClientAnswers::default();
    for number in (client..requests).step_by(CLIENTS) {
        let due = start + step * number as u32;
        sleep_until(due.into()).await;
        let is_short = number / CLIENTS % SHORT_EVERY == client % SHORT_EVERY;
        stream.write_u8(is_short.into()).await?;
        seen.sent += 1;
        match timeout(LIMIT, stream.read_u8()).await {
            Ok(Ok(DONE)) => {
                seen.done += 1;
                if is_short {
                    seen.latencies.push(due.elapsed().as_secs_f64());
                }
            }
            Ok(Ok(REFUSED)) => seen.refused += 1,
            // Lost; the connection is no good any more.
            _ => break,
        }
    }
    Ok(seen)
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * part).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// So many steps of work that needs no memory.
fn spin(steps: u64) -> u64 {
    let mut state = steps;
    for _ in 0..steps {
        state = std::hint::black_box(state.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31));
    }
    state
}

/// How many steps take so long on this machine: the fastest of some tries.
fn steps_of(time: Duration) -> u64 {
    let tried = 200_000;
    let one = || {
        let start = Instant::now();
        std::hint::black_box(spin(tried));
        start.elapsed()
    };
    let fastest = (0..20).map(|_| one()).min().unwrap_or(time);
    (tried as f64 * time.as_secs_f64() / fastest.as_secs_f64()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever computes, each request is answered or refused.
    #[test]
    fn no_request_is_lost() {
        for (name, computes) in ways_to_compute().unwrap() {
            let seen = one_load(computes, 300, 10).unwrap();
            assert_eq!((seen.sent, seen.done + seen.refused), (300, 300), "{name}");
            assert!(!seen.latencies.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_has_no_place_is_refused() {
        let pool = Pool::builder().workers(1).queue_limit(0).build().unwrap();
        let computes = Computes::Roving(Arc::new(pool), Priority::Normal);
        let seen = one_load(computes, 100, 10).unwrap();
        assert_eq!((seen.sent, seen.refused), (100, 100));
        let computes = Computes::Tokio(Arc::new(Semaphore::new(0)));
        assert_eq!(one_load(computes, 100, 10).unwrap().refused, 100);
    }

    #[test]
    fn quantiles_are_of_what_is_there() {
        let numbers: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(
            (quantile(&numbers, 0.5), quantile(&numbers, 0.99)),
            (50.0, 99.0)
        );
        assert!(quantile(&[], 0.5).is_nan());
    }
}
