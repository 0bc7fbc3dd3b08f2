//! The time of an operation, by events before and after it.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaEvent, DriverError};

use super::driver;

/// A launch takes the host some microseconds.
const PUT: Duration = Duration::from_micros(50);

/// Events before and after an operation.
pub(super) struct Marks {
    pub(super) before: CudaEvent,
    pub(super) after: CudaEvent,
}

impl Marks {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        // Waiting for them sleeps.
        let event = || context.new_event(Some(CUevent_flags::CU_EVENT_BLOCKING_SYNC));
        Ok(Marks {
            before: event()?,
            after: event()?,
        })
    }

    /// The time that the operation took, which has ended.
    pub(super) fn time(&self) -> Result<Duration, DriverError> {
        let ms = driver::elapsed(&self.before, &self.after)?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3))
    }
}

/// Whether the time between two marks may be that in which the host put a kernel between them: at
/// its first launch on a stream the driver loads it, which takes milliseconds, and cuBLAS loads
/// itself, which takes hundreds.
pub(super) fn is_of_the_host(loading: Duration, time: Duration) -> bool {
    loading > PUT && 4 * loading > time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_takes_long_beside_its_kernel_leaves_the_time_unknown() {
        let [us, ms] = [Duration::from_micros, Duration::from_millis];
        assert!(is_of_the_host(ms(300), ms(301)) && is_of_the_host(us(60), us(70)));
        assert!(!is_of_the_host(us(20), us(25)), "every launch takes some");
        assert!(!is_of_the_host(ms(1), ms(5)), "most of it is the kernel's");
    }
}
