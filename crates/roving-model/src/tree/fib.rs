//! Fibonacci numbers by two recursive calls.

use super::{Step, Then, Tree};

/// `fib(n)` without a cut-off: two joined calls for each n above 1.
///
/// ```
/// use roving_model::{Fib, Runtime};
/// let outcome = Runtime::new(1).run(&Fib { n: 15, call_ns: 2.0 })?;
/// assert_eq!(outcome.joins, 986);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fib {
    /// Which number, up to 255.
    pub n: u8,
    /// The time of one call, in ns.
    pub call_ns: f64,
}

impl Tree for Fib {
    type Task = u8;

    fn root(&self) -> u8 {
        self.n
    }

    fn run(&self, n: u8) -> Step<u8> {
        let then = match n {
            0 | 1 => Then::End,
            n => Then::Join {
                first: n - 1,
                second: n - 2,
                after_ns: 0.0,
            },
        };
        let ns = self.call_ns;
        Step { ns, then }
    }
}
