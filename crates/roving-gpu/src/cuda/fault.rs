//! Errors of CUDA, as this crate's.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use cudarc::nvrtc::CompileError;
use cudarc::nvrtc::sys::nvrtcResult;

use crate::backend::error::{Cause, DeviceError};

/// Converts the driver's error of a call, with `what` before its text.
pub(super) fn of(error: DriverError, what: &str) -> DeviceError {
    DeviceError::new(cause(error.0), format!("{what}{}", text(error)))
}

/// Whether a context can be used after this, and what for. An error that is found when something is
/// waited for is another matter: the context is gone then.
fn cause(code: CUresult) -> Cause {
    match code {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Cause::OutOfMemory,
        CUresult::CUDA_ERROR_NO_DEVICE
        | CUresult::CUDA_ERROR_INVALID_DEVICE
        | CUresult::CUDA_ERROR_STUB_LIBRARY => Cause::NoDevice,
        // A launch or a copy that is refused for itself.
        CUresult::CUDA_ERROR_INVALID_VALUE
        | CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_INVALID_SOURCE
        | CUresult::CUDA_ERROR_NOT_FOUND
        | CUresult::CUDA_ERROR_NOT_SUPPORTED
        | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => Cause::Kernel,
        _ => Cause::Lost,
    }
}

/// In words, and by name.
pub(super) fn text(error: DriverError) -> String {
    match error.error_string() {
        Ok(words) => format!("{} ({:?})", words.to_string_lossy(), error.0),
        Err(_) => format!("{:?}", error.0),
    }
}

/// Converts the first error of the compiler. If that had no memory, it says nothing of the kernel.
pub(super) fn of_compiler(error: &CompileError, what: &str) -> DeviceError {
    let code = match error {
        CompileError::CompileError { nvrtc, .. } => nvrtc,
        CompileError::CreationError(nvrtc)
        | CompileError::GetLogError(nvrtc)
        | CompileError::GetPtxError(nvrtc)
        | CompileError::DestroyError(nvrtc) => nvrtc,
    };
    if code.0 == nvrtcResult::NVRTC_ERROR_OUT_OF_MEMORY {
        let text = format!("{what}NVRTC, the compiler, had too little host memory");
        return DeviceError::new(Cause::OutOfMemory, text);
    }
    let text = match error {
        CompileError::CompileError { log, .. } => first_error(&log.to_string_lossy()),
        other => format!("NVRTC: {other:?}"),
    };
    DeviceError::new(Cause::Kernel, format!("{what}{text}"))
}

/// The line of a log that says what is wrong; notes and warnings may stand before it.
fn first_error(log: &str) -> String {
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or("NVRTC gave no reason");
    lines
        .find(|line| line.contains("error"))
        .unwrap_or(first)
        .into()
}

#[cfg(test)]
mod tests {
    use cudarc::nvrtc::result::NvrtcError;

    use super::*;

    #[test]
    fn a_compiler_without_memory_says_nothing_of_the_kernel() {
        use nvrtcResult::{NVRTC_ERROR_INVALID_INPUT, NVRTC_ERROR_OUT_OF_MEMORY};
        let compiled = |code| CompileError::CompileError {
            nvrtc: NvrtcError(code),
            options: Vec::new(),
            log: c"add(3): error".into(),
        };
        let created = |code| CompileError::CreationError(NvrtcError(code));
        let cause = |error| of_compiler(&error, "").cause();
        assert_eq!(
            cause(compiled(NVRTC_ERROR_OUT_OF_MEMORY)),
            Cause::OutOfMemory
        );
        assert_eq!(
            cause(created(NVRTC_ERROR_OUT_OF_MEMORY)),
            Cause::OutOfMemory
        );
        assert_eq!(cause(compiled(NVRTC_ERROR_INVALID_INPUT)), Cause::Kernel);
        assert_eq!(cause(created(NVRTC_ERROR_INVALID_INPUT)), Cause::Kernel);
    }

    #[test]
    fn the_first_error_is_told() {
        let log = "\nadd(1): warning #177-D: unused\n\nadd(3): error: identifier \"x\" is undefined\n  1 error\n";
        assert_eq!(
            first_error(log),
            "add(3): error: identifier \"x\" is undefined"
        );
        assert_eq!(first_error(""), "NVRTC gave no reason");
    }

    #[test]
    fn what_is_refused_for_itself_leaves_the_device_as_it_is() {
        assert_eq!(
            cause(CUresult::CUDA_ERROR_OUT_OF_MEMORY),
            Cause::OutOfMemory
        );
        assert_eq!(cause(CUresult::CUDA_ERROR_INVALID_VALUE), Cause::Kernel);
        assert_eq!(cause(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Cause::Lost);
    }
}
