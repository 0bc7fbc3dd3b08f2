//! A web server whose requests compute: hyper and tokio talk, Roving's workers compute.
//!
//! ```text
//! cargo run --release --example server --features server                    # tries itself, and ends
//! cargo run --release --example server --features server -- --listen 8080   # then: curl localhost:8080/rows/100
//! ```
//!
//! * One thread of tokio is enough: it awaits the handles of what the workers compute.
//! * **Backpressure.** The pool has a limit on what may wait; `try_spawn` refuses the rest, and the
//!   client is told at once to come again.
//! * **Deadline.** A request computes inside a `Cancel` with a deadline; its loops end there.
//! * **Hang-up.** hyper drops the future of a request whose client has gone. With it go the handle,
//!   and so the task if nobody has begun it, and a guard that cancels what has begun.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::io::{Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use roving::{Cancel, CancelledError, Pool, map_reduce};
use roving_examples::{Failure, Words, beside_serial, random};

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
        let server = Server::new(limit, Duration::from_secs(10))?;
        let (address, ends) = start(port, server)?;
        writeln!(out, "listening on http://{address}/rows/100")?;
        out.flush()?;
        return Ok(ends.join().unwrap_or(Ok(()))?);
    }
    let requests = words.number("requests", 8, 1..=200)?;
    words.end()?;

    let rows = 500;
    let (address, _) = start(0, Server::new(requests, Duration::from_secs(60))?)?;
    let one = || (0..rows).map(row).fold(0, u64::wrapping_add).to_string();
    let serial = || (0..requests).map(|_| one()).collect();
    let all = vec![format!("/rows/{rows}"); requests];
    let body = |answer: (u16, String)| answer.1;
    let parallel = || get_all(address, &all).into_iter().map(body).collect();
    let answers: Vec<String> = beside_serial(serial, parallel)?;
    writeln!(out, "{} requests were answered", answers.len())?;

    let (address, _) = start(0, Server::new(limit, Duration::from_millis(50))?)?;
    let (status, text) = get(address, &format!("/rows/{ROWS_MAX}"))?;
    writeln!(out, "one that is too long: {status}, {text}")?;

    let statuses = get_all(address, &vec![format!("/rows/{rows}"); 8 * limit]);
    let refused = statuses.iter().filter(|(status, _)| *status == 503).count();
    let asked = statuses.len();
    eprintln!("{asked} requests at a time: {refused} are told to come again");
    Ok(())
}

/// The state that all requests share.
struct Server {
    pool: Pool,
    deadline: Duration,
    /// Each request that waits or computes has a clone.
    present: Arc<()>,
}

impl Server {
    /// So many requests may wait for a worker.
    fn new(limit: usize, deadline: Duration) -> Result<Server, Failure> {
        let pool = Pool::builder().workers(roving::current_workers());
        Ok(Server {
            pool: pool.queue_limit(limit).build()?,
            deadline,
            present: Arc::default(),
        })
    }

    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if path == "/present" {
            return text(
                StatusCode::OK,
                (Arc::strong_count(&self.present) - 1).to_string(),
            );
        }
        match path.strip_prefix("/rows/").map(str::parse) {
            Some(Ok(rows)) if rows <= ROWS_MAX => self.compute(rows).await,
            Some(_) => text(
                StatusCode::BAD_REQUEST,
                format!("want up to {ROWS_MAX} rows"),
            ),
            None => text(StatusCode::NOT_FOUND, "want /rows/100".into()),
        }
    }

    /// Has the workers compute it. The thread of tokio is free meanwhile.
    async fn compute(&self, rows: usize) -> Response<Full<Bytes>> {
        // From now on, so that the time in the queue counts.
        let cancel = CancelOnDrop(Cancel::after(self.deadline));
        let (token, present) = (cancel.0.clone(), Arc::clone(&self.present));
        let Ok(task) = self.pool.try_spawn(move || {
            let _until_it_ends = present;
            token.run(|| map_reduce(0..rows, 0, row, u64::wrapping_add))
        }) else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "come again".into());
        };
        match task.abort_on_drop().await {
            Ok(Ok(sum)) => text(StatusCode::OK, sum.to_string()),
            Ok(Err(CancelledError)) => text(StatusCode::GATEWAY_TIMEOUT, "too long".into()),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
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

/// Starts a server on a thread of its own, which ends with the process. Returns its address.
fn start(
    port: u16,
    server: Server,
) -> Result<(SocketAddr, thread::JoinHandle<std::io::Result<()>>), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    let tokio = tokio.enable_io().build()?;
    let serves = thread::spawn(move || tokio.block_on(serve(listener, Arc::new(server))));
    Ok((address, serves))
}

async fn serve(listener: TcpListener, server: Arc<Server>) -> std::io::Result<()> {
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

    fn started(limit: usize, deadline: Duration) -> SocketAddr {
        start(0, Server::new(limit, deadline).unwrap()).unwrap().0
    }

    /// Asks for more than is computed in a test.
    fn ask_for_much(address: SocketAddr) -> TcpStream {
        ask(address, &format!("/rows/{ROWS_MAX}")).unwrap()
    }

    /// Waits until so many requests wait or compute.
    fn until_present(address: SocketAddr, count: usize) {
        while get(address, "/present").unwrap() != (200, count.to_string()) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn rows_are_summed() {
        let address = started(4, LONG);
        let expected: u64 = (0..40).map(row).sum();
        let answer = get(address, "/rows/40").unwrap();
        assert_eq!(answer, (200, expected.to_string()));
        assert_eq!(get(address, "/rows/0").unwrap(), (200, "0".into()));
    }

    #[test]
    fn wrong_requests_are_refused() {
        let address = started(4, LONG);
        for (path, status) in [("/", 404), ("/rows/x", 400), ("/rows/10000001", 400)] {
            assert_eq!(get(address, path).unwrap().0, status);
        }
    }

    #[test]
    fn a_deadline_ends_a_request() {
        let address = started(4, Duration::from_millis(1));
        let answer = get(address, &format!("/rows/{ROWS_MAX}")).unwrap();
        assert_eq!(answer, (504, "too long".into()));
        until_present(address, 0);
    }

    #[test]
    fn a_hang_up_ends_what_it_was_for() {
        let address = started(4, LONG);
        let client = ask_for_much(address);
        until_present(address, 1);
        drop(client);
        until_present(address, 0);
        assert_eq!(get(address, "/rows/1").unwrap().0, 200);
    }

    /// Whether the client is told to come again, or is one of so many that wait or compute.
    fn is_refused(address: SocketAddr, mut client: &TcpStream, count: usize) -> bool {
        client
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let mut head = [0; 12];
        loop {
            if client.read_exact(&mut head).is_ok() {
                assert_eq!(&head, b"HTTP/1.1 503");
                return true;
            }
            if get(address, "/present").unwrap() == (200, count.to_string()) {
                return false;
            }
        }
    }

    #[test]
    fn no_more_wait_than_may() {
        let limit = 3;
        let address = started(limit, LONG);
        let mut clients = Vec::new();
        loop {
            let client = ask_for_much(address);
            if is_refused(address, &client, clients.len() + 1) {
                break;
            }
            clients.push(client);
        }
        // Those that a worker has begun do not wait.
        let most = limit + roving::current_workers();
        assert!((limit..=most).contains(&clients.len()), "{}", clients.len());
        drop(clients);
        until_present(address, 0);
        assert_eq!(get(address, "/rows/1").unwrap().0, 200);
    }

    #[test]
    fn the_program_shows_each_of_these() {
        let text = roving_examples::output(program, &["3"]).unwrap();
        let lines = [
            "3 requests were answered",
            "one that is too long: 504, too long",
        ];
        assert!(text.lines().eq(lines), "{text}");
    }
}
