//! The two ways in which a call does not do what was asked.

/// Why a call was not done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An answer that a driver may give: the number of its error.
    Code(i32),
    /// The program is wrong. The text says what, for people.
    Mistake(String),
}

pub(crate) type Answer<T> = Result<T, Refusal>;

pub(crate) fn mistake<T>(text: impl Into<String>) -> Answer<T> {
    Err(Refusal::Mistake(text.into()))
}

pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const INVALID_DEVICE: i32 = 101;
pub(crate) const INVALID_PTX: i32 = 218;
pub(crate) const NOT_FOUND: i32 = 500;
pub(crate) const NOT_READY: i32 = 600;
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
pub(crate) const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;

/// The errors that it may answer with, by number.
pub(crate) const ERRORS: [(i32, &std::ffi::CStr, &std::ffi::CStr); 9] = [
    (0, c"CUDA_SUCCESS", c"no error"),
    (
        INVALID_VALUE,
        c"CUDA_ERROR_INVALID_VALUE",
        c"a value is wrong",
    ),
    (
        OUT_OF_MEMORY,
        c"CUDA_ERROR_OUT_OF_MEMORY",
        c"there is no room left",
    ),
    (
        INVALID_DEVICE,
        c"CUDA_ERROR_INVALID_DEVICE",
        c"there is no such device",
    ),
    (INVALID_PTX, c"CUDA_ERROR_INVALID_PTX", c"this is no module"),
    (
        NOT_FOUND,
        c"CUDA_ERROR_NOT_FOUND",
        c"there is nothing of that name",
    ),
    (NOT_READY, c"CUDA_ERROR_NOT_READY", c"it has not ended yet"),
    (
        ILLEGAL_ADDRESS,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"a kernel used an address that is none",
    ),
    (
        PEER_ACCESS_ALREADY_ENABLED,
        c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        c"the context may look there already",
    ),
];
