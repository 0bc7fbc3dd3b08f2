//! Asks a slow service for many pages, and counts the words of each while others are on their way.
//!
//! ```text
//! cargo run --release --example async-tasks -- 64
//! ```
//!
//! A page is on its way for some milliseconds, in which its task is suspended: it holds no worker,
//! so a few workers do for any number of pages. The tasks borrow the service, because the scope
//! waits for all of them.
#![forbid(unsafe_code)]

use std::future::poll_fn;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use roving::task;
use roving_examples::{Failure, Words, beside_serial, random};

const USAGE: &str = "async-tasks [PAGES]      1 to 10000, default 64";

/// How long an answer is on its way.
const LATENCY: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let pages = words.number("pages", 64, 1..=10_000)?;
    words.end()?;
    let service = Service::start();
    let one_by_one = || {
        let counts = (0..pages).map(|page| task::block_on(count_words(&service, page)));
        counts.sum()
    };
    let sum: usize = beside_serial(one_by_one, || count_all(&service, pages))?;
    writeln!(out, "{sum} words on {pages} pages")?;
    Ok(())
}

/// One task for each page. All are asked for before the first answer comes.
fn count_all(service: &Service, pages: u64) -> usize {
    task::scope(|scope| async move {
        let mut counts = Vec::new();
        for page in 0..pages {
            counts.push(scope.spawn(count_words(service, page)));
        }
        let mut sum = 0;
        for count in counts {
            sum += count.await;
        }
        sum
    })
}

async fn count_words(service: &Service, page: u64) -> usize {
    let text = service.ask(page).await;
    // From here on it is this task's worker that computes.
    text.split_whitespace().count()
}

/// Stands for what is far away: a thread that answers some time later.
struct Service {
    questions: Sender<(Instant, u64, Arc<Answer>)>,
}

/// A page, as soon as it is there, and who waits for it.
#[derive(Default)]
struct Answer(Mutex<(Option<String>, Option<Waker>)>);

impl Service {
    fn start() -> Service {
        let (questions, asked) = mpsc::channel::<(Instant, u64, Arc<Answer>)>();
        thread::spawn(move || {
            for (due, page, answer) in asked {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                answer.put(text(page));
            }
        });
        Service { questions }
    }

    async fn ask(&self, page: u64) -> String {
        let answer = Arc::new(Answer::default());
        let question = (Instant::now() + LATENCY, page, Arc::clone(&answer));
        self.questions
            .send(question)
            .expect("the service answers while it can be asked");
        answer.get().await
    }
}

impl Answer {
    fn put(&self, text: String) {
        let waker = {
            let mut answer = self.0.lock().unwrap();
            answer.0 = Some(text);
            answer.1.take()
        };
        // Any thread may wake a task.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn get(&self) -> String {
        poll_fn(|context| {
            let mut answer = self.0.lock().unwrap();
            if let Some(text) = answer.0.take() {
                return Poll::Ready(text);
            }
            answer.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Some hundred words, the same for the same page in each run.
fn text(page: u64) -> String {
    let words = 100 + random(page) % 900;
    (0..words)
        .map(|word| format!("w{} ", random(page + word) % 1000))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_are_counted() {
        let pages = 100;
        let expected: u64 = (0..pages).map(|page| 100 + random(page) % 900).sum();
        assert_eq!(count_all(&Service::start(), pages) as u64, expected);
    }

    #[test]
    fn the_program_says_how_many() {
        let text = roving_examples::output(program, &["3"]).unwrap();
        assert!(text.ends_with(" words on 3 pages\n"), "{text}");
        assert!(roving_examples::output(program, &["0"]).is_err());
    }
}
