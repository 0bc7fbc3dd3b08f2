//! A web server whose requests compute: hyper and tokio talk, Roving's workers compute.
//!
//! ```text
//! cargo run --release --example server --features server                    # tries itself, and ends
//! cargo run --release --example server --features server -- --listen 8080   # then: curl localhost:8080/rows/100
//! ```
//!
//! * One thread of tokio is enough, since it never computes.
//! * **Deadline.** A request computes inside a `Cancel` with a deadline; whatever it runs on any
//!   worker asks `is_cancelled()`.
//! * **Hang-up.** hyper drops the future of a request whose client has gone, and with it a guard
//!   that cancels.
//! * **Backpressure.** So many requests may wait or compute at a time; others are told at once to
//!   come again. A request that was given up counts until its worker has noticed, so the queue
//!   never grows beyond that.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io::{Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use roving::{Cancel, is_cancelled, map_reduce};
use roving_examples::{Failure, Words, beside_serial, random};
use tokio::sync::Semaphore;

const USAGE: &str = "server [--listen PORT | REQUESTS]      1 to 200 requests to itself, default 8";

/// Rows that one request may ask for.
const ROWS_MAX: usize = 10_000_000;

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let limit = 4 * roving::current_workers();
    if words.flag("--listen") {
        let port = words.number("port", 8080, 0..=u16::MAX)?;
        words.end()?;
        let (address, journal, _) = start(port, limit, Duration::from_secs(10))?;
        writeln!(out, "listening on http://{address}/rows/100")?;
        out.flush()?;
        for ended in journal {
            eprintln!("{:?} after {} rows", ended.outcome, ended.rows_computed);
        }
        return Ok(());
    }
    let requests = words.number("requests", 8, 1..=200)?;
    words.end()?;

    let rows = 500;
    let (address, _journal, _) = start(0, requests, Duration::from_secs(60))?;
    let one = || (0..rows).map(row).fold(0, u64::wrapping_add).to_string();
    let serial = || (0..requests).map(|_| one()).collect();
    let all = vec![format!("/rows/{rows}"); requests];
    let parallel = || {
        get_all(address, &all)
            .into_iter()
            .map(|answer| answer.1)
            .collect()
    };
    let answers: Vec<String> = beside_serial(serial, parallel)?;
    writeln!(out, "{} requests were answered", answers.len())?;

    let (address, journal, free) = start(0, limit, Duration::from_millis(50))?;
    let (status, _) = get(address, &format!("/rows/{ROWS_MAX}"))?;
    writeln!(
        out,
        "one that is too long: {status}, {:?}",
        journal.recv()?.outcome
    )?;
    hang_up(address, &free)?;
    writeln!(
        out,
        "one whose client hangs up: {:?}",
        journal.recv()?.outcome
    )?;

    let statuses = get_all(address, &vec![format!("/rows/{rows}"); 8 * limit]);
    let refused = statuses.iter().filter(|(status, _)| *status == 503).count();
    eprintln!(
        "{} requests at a time: {refused} are told to come again",
        statuses.len()
    );
    Ok(())
}

/// How one computation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done(u64),
    Cancelled,
    Panicked,
}

/// A line of the server's journal.
#[derive(Debug)]
struct Ended {
    outcome: Outcome,
    rows_computed: u64,
}

/// The state that all requests share.
struct Server {
    /// As many as may wait or compute at a time.
    free: Arc<Semaphore>,
    deadline: Duration,
    journal: Sender<Ended>,
}

/// Starts a server on a thread of its own, which ends with the process. Returns its address, its
/// journal, and its free places.
fn start(
    port: u16,
    limit: usize,
    deadline: Duration,
) -> Result<(SocketAddr, Receiver<Ended>, Arc<Semaphore>), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (journal, ended) = mpsc::channel();
    let free = Arc::new(Semaphore::new(limit));
    let server = Arc::new(Server {
        free: Arc::clone(&free),
        deadline,
        journal,
    });
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    thread::spawn(move || {
        if let Err(error) = tokio.block_on(serve(listener, server)) {
            eprintln!("the server has ended: {error}");
        }
    });
    Ok((address, ended, free))
}

async fn serve(listener: TcpListener, server: Arc<Server>) -> Result<(), Failure> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let server = Arc::clone(&server);
        let answer = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(&request).await) }
        });
        tokio::spawn(async move {
            // A client that hangs up is an error of its connection, and no news.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

impl Server {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let rows = request.uri().path().strip_prefix("/rows/").map(str::parse);
        let rows = match rows {
            Some(Ok(rows)) if rows <= ROWS_MAX => rows,
            Some(_) => {
                return text(
                    StatusCode::BAD_REQUEST,
                    format!("want up to {ROWS_MAX} rows"),
                );
            }
            None => return text(StatusCode::NOT_FOUND, "want /rows/100".into()),
        };
        match self.compute(rows).await {
            Some(Outcome::Done(sum)) => text(StatusCode::OK, sum.to_string()),
            Some(Outcome::Cancelled) => text(StatusCode::GATEWAY_TIMEOUT, "too long".into()),
            Some(Outcome::Panicked) => text(StatusCode::INTERNAL_SERVER_ERROR, String::new()),
            None => {
                let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "come again".into());
                response
                    .headers_mut()
                    .insert(RETRY_AFTER, HeaderValue::from_static("1"));
                response
            }
        }
    }

    /// Has the workers compute it. None if too many requests wait for them.
    async fn compute(&self, rows: usize) -> Option<Outcome> {
        let place = Arc::clone(&self.free).try_acquire_owned().ok()?;
        // From now on, so that the time in the queue counts.
        let cancel = Cancel::after(self.deadline);
        let _guard = CancelOnDrop(cancel.clone());
        let journal = self.journal.clone();
        let task = roving::spawn(move || {
            let computed = AtomicU64::new(0);
            let sum = || catch_unwind(AssertUnwindSafe(|| sum(rows, &computed)));
            let outcome = match cancel.run(sum) {
                Ok(Ok(sum)) => Outcome::Done(sum),
                Ok(Err(_)) => Outcome::Panicked,
                Err(_) => Outcome::Cancelled,
            };
            drop(place);
            // A reader of the journal need not be there any more.
            let _ = journal.send(Ended {
                outcome,
                rows_computed: computed.into_inner(),
            });
            outcome
        });
        // The thread of tokio is free meanwhile.
        Some(task.await.unwrap_or(Outcome::Panicked))
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

/// The work of a request, in parallel.
fn sum(rows: usize, computed: &AtomicU64) -> u64 {
    let one = |at| {
        if is_cancelled() {
            return 0;
        }
        computed.fetch_add(1, Ordering::Relaxed);
        row(at)
    };
    map_reduce(0..rows, 0, one, u64::wrapping_add)
}

/// Some tens of microseconds.
fn row(at: usize) -> u64 {
    (0..20_000).fold(at as u64, |number, _| random(number)) % 1000
}

/// The status and the body of an answer.
fn get(address: SocketAddr, path: &str) -> Result<(u16, String), Failure> {
    let mut stream = ask(address, path)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer
        .split(' ')
        .nth(1)
        .ok_or("an answer without a status")?
        .parse()?;
    let (_, body) = answer
        .split_once("\r\n\r\n")
        .ok_or("an answer without an end of its head")?;
    Ok((status, body.to_owned()))
}

fn ask(address: SocketAddr, path: &str) -> Result<TcpStream, Failure> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )?;
    Ok(stream)
}

/// Asks for more than is computed soon, and leaves when the request has a place. A client that
/// leaves before may be gone before its request is read, and then nothing begins.
fn hang_up(address: SocketAddr, free: &Semaphore) -> Result<(), Failure> {
    let before = free.available_permits();
    let stream = ask(address, &format!("/rows/{ROWS_MAX}"))?;
    while free.available_permits() == before {
        thread::sleep(Duration::from_millis(1));
    }
    drop(stream);
    Ok(())
}

/// By one client for each path, at the same time. A client that fails gets the status 0.
fn get_all(address: SocketAddr, paths: &[String]) -> Vec<(u16, String)> {
    thread::scope(|scope| {
        let clients: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(move || get(address, path)))
            .collect();
        let answer = |client: thread::ScopedJoinHandle<'_, Result<_, Failure>>| {
            client.join().unwrap().unwrap_or_default()
        };
        clients.into_iter().map(answer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn rows_are_summed() {
        let (address, journal, _) = start(0, 4, LONG).unwrap();
        let expected: u64 = (0..40).map(row).sum();
        assert_eq!(
            get(address, "/rows/40").unwrap(),
            (200, expected.to_string())
        );
        assert_eq!(journal.recv().unwrap().outcome, Outcome::Done(expected));
        assert_eq!(get(address, "/rows/0").unwrap(), (200, "0".into()));
    }

    #[test]
    fn wrong_requests_are_refused() {
        let (address, _journal, _) = start(0, 4, LONG).unwrap();
        for (path, status) in [("/", 404), ("/rows/x", 400), ("/rows/10000001", 400)] {
            assert_eq!(get(address, path).unwrap().0, status);
        }
    }

    #[test]
    fn a_deadline_ends_a_request() {
        let (address, journal, _) = start(0, 4, Duration::from_millis(1)).unwrap();
        assert_eq!(get(address, &format!("/rows/{ROWS_MAX}")).unwrap().0, 504);
        let ended = journal.recv().unwrap();
        assert_eq!(ended.outcome, Outcome::Cancelled);
        assert!(ended.rows_computed < ROWS_MAX as u64);
    }

    #[test]
    fn a_hang_up_ends_what_it_was_for() {
        let (address, journal, free) = start(0, 4, LONG).unwrap();
        hang_up(address, &free).unwrap();
        let ended = journal.recv_timeout(LONG).unwrap();
        assert_eq!(ended.outcome, Outcome::Cancelled);
        assert!(ended.rows_computed < ROWS_MAX as u64);
    }

    #[test]
    fn no_more_wait_than_may() {
        let (address, _journal, _) = start(0, 0, LONG).unwrap();
        assert_eq!(get(address, "/rows/1").unwrap(), (503, "come again".into()));
    }

    #[test]
    fn a_place_is_free_again_when_a_request_has_ended() {
        let (address, journal, free) = start(0, 1, LONG).unwrap();
        hang_up(address, &free).unwrap();
        journal.recv_timeout(LONG).unwrap();
        assert_eq!(get(address, "/rows/1").unwrap().0, 200);
    }

    #[test]
    fn the_program_shows_each_of_these() {
        let text = roving_examples::output(program, &["3"]).unwrap();
        let lines = [
            "3 requests were answered",
            "one that is too long: 504, Cancelled",
            "one whose client hangs up: Cancelled",
        ];
        assert!(text.lines().eq(lines), "{text}");
    }
}
