//! Requests with spans of the crate `tracing`, which follow their work to whichever worker runs it.
//!
//! ```text
//! cargo run --release --example spans --features spans
//! cargo run --release --example spans --features spans -- 16 spans.json  # and open it in Perfetto
//! ```
//!
//! `in_current_span` has everything inside run in the span of its caller. A trace of the pool shows
//! the spans beside what the workers did.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use roving::context::in_current_span;
use roving::trace::SpanLayer;
use roving_examples::{Failure, Words, beside_serial, random};
use tracing::span::{Attributes, Id};
use tracing::{Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

const USAGE: &str = "spans [REQUESTS [FILE]]      1 to 1000, default 16; a file for the trace";

/// Parts of a request.
const PARTS: usize = 16;

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let requests = words.number("requests", 16, 1..=1000)?;
    let file = words.path();
    words.end()?;
    let counts = Counts::default();
    let layers = tracing_subscriber::registry()
        .with(SpanLayer)
        .with(counts.clone());
    let dispatch = tracing::Dispatch::new(layers);
    let mut pool = roving::Pool::builder().workers(roving::current_workers());
    if let Some(file) = &file {
        pool = pool.trace(file);
    }
    let pool = pool.build()?;
    let serial = || {
        (0..requests)
            .map(|request| (0..PARTS).map(|at| part(request, at)).sum())
            .collect()
    };
    let parallel = || {
        tracing::dispatcher::with_default(&dispatch, || {
            (0..requests).map(|n| answer(&pool, n)).collect()
        })
    };
    let sums: Vec<u64> = beside_serial(serial, parallel)?;
    drop(pool);
    for ((request, sum), parts) in (0..).zip(sums).zip(counts.of_requests()) {
        writeln!(out, "request {request}: {sum}, from {parts} parts")?;
    }
    if let Some(file) = file {
        writeln!(out, "the trace is in {}", file.display())?;
    }
    Ok(())
}

/// One request, whose parts run on any worker: inside of its span all the same.
fn answer(pool: &roving::Pool, request: u64) -> u64 {
    let _entered = info_span!("request", number = request).entered();
    in_current_span(|| {
        pool.install(|| {
            roving::map_reduce(
                0..PARTS,
                0,
                |at| info_span!("part").in_scope(|| part(request, at)),
                |a, b| a + b,
            )
        })
    })
}

fn part(request: u64, at: usize) -> u64 {
    let seed = request * PARTS as u64 + at as u64;
    (0..100_000).fold(seed, |number, _| random(number)) % 1000
}

/// Counts the parts inside the span of each request: that span and how many, in the order of
/// requests.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<Vec<(Id, usize)>>>);

impl Counts {
    fn of_requests(&self) -> Vec<usize> {
        self.0
            .lock()
            .unwrap()
            .iter()
            .map(|(_, parts)| *parts)
            .collect()
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Counts {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut counts = self.0.lock().unwrap();
        if attributes.metadata().name() == "request" {
            counts.push((id.clone(), 0));
        } else if let Some(parent) = context.span(id).and_then(|span| span.parent()) {
            // From the last one on, since the number of a span that has ended may be used again.
            let inside = counts
                .iter_mut()
                .rev()
                .find(|(request, _)| *request == parent.id());
            if let Some((_, parts)) = inside {
                *parts += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_in_the_span_of_its_request() {
        let pool = roving::Pool::new(4).unwrap();
        let counts = Counts::default();
        let subscriber = tracing_subscriber::registry().with(counts.clone());
        tracing::subscriber::with_default(subscriber, || {
            for request in 0..3 {
                assert_eq!(
                    answer(&pool, request),
                    (0..PARTS).map(|at| part(request, at)).sum()
                );
            }
        });
        assert_eq!(counts.of_requests(), [PARTS; 3]);
    }

    #[test]
    fn the_program_writes_a_trace() {
        let file = std::env::temp_dir().join(format!("roving-spans-{}.json", std::process::id()));
        let text = roving_examples::output(program, &["2", file.to_str().unwrap()]).unwrap();
        let trace = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(text.contains("the trace is in"), "{text}");
        assert!(trace.contains("\"part\""));
    }
}
