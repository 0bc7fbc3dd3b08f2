//! Routines of cuBLAS, which kernels can name by [`crate::Kernel::library`].
//!
//! | routine | arguments, by rows | what it does |
//! |---|---|---|
//! | `gemm_f32`, `gemm_f64` | read a (m × k), read b (k × n), update c (m × n), `[m, n, k, …]` | c += a · b |
//! | `gemm_nt_f32`, `gemm_nt_f64` | read a (m × k), read b (n × k), update c (m × n), `[m, n, k, …]` | c -= a · bᵀ |
//! | `trsm_f32`, `trsm_f64` | read l (n × n, lower), update a (m × n), `[m, n, …]` | the X with X · lᵀ = a takes the place of a |
//!
//! The last argument is a value that begins with 32-bit words; the number of groups does not
//! matter. cuBLAS stores by columns, where a matrix is seen as its transpose: so each routine
//! computes the transpose of what is asked.
#![allow(unsafe_code)] // calls a library by address

use std::ffi::c_int;

use cudarc::cublas::result;
use cudarc::cublas::result::CublasError;
use cudarc::cublas::sys::{
    self, cublasDiagType_t, cublasFillMode_t, cublasHandle_t, cublasOperation_t, cublasSideMode_t,
};
use cudarc::driver::CudaStream;

use super::memory::Room;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Launch, LaunchArg};

/// The routine that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Routine {
    what: What,
    double: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Gemm,
    GemmNt,
    Trsm,
}

impl Routine {
    /// `None`, if there is none of that name.
    pub(super) fn named(name: &str) -> Option<Routine> {
        let (what, number) = name.rsplit_once('_')?;
        let what = match what {
            "gemm" => What::Gemm,
            "gemm_nt" => What::GemmNt,
            "trsm" => What::Trsm,
            _ => return None,
        };
        let double = match number {
            "f32" => false,
            "f64" => true,
            _ => return None,
        };
        Some(Routine { what, double })
    }

    /// How many bytes a number has.
    fn number(self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// Why it must not have these buffers, of which it writes to the last.
    fn objects(self, rooms: &[GivenRoom]) -> Option<&'static str> {
        if rooms.last().is_some_and(|last| !last.writable) {
            return Some("the last buffer is written to: give it by `Arg::update`");
        }
        if rooms
            .iter()
            .any(|room| room.address % self.number() as u64 != 0)
        {
            return Some("a part of a buffer begins within a number");
        }
        let pairs = (1..rooms.len()).flat_map(|at| (0..at).map(move |before| (before, at)));
        let mut pairs = pairs.map(|(one, two)| (&rooms[one], &rooms[two]));
        let clashes = pairs.any(|(one, two)| one.clashes(two));
        clashes.then_some("a buffer, or part of it, is given twice, and written")
    }
}

/// A buffer among the arguments of a launch, or a part of one.
#[derive(Clone, Copy)]
struct GivenRoom {
    address: u64,
    bytes: usize,
    writable: bool,
}

impl GivenRoom {
    fn clashes(&self, other: &GivenRoom) -> bool {
        let end = |room: &GivenRoom| room.address + room.bytes as u64;
        let overlap = self.address.max(other.address) < end(self).min(end(other));
        overlap && (self.writable || other.writable)
    }
}

/// The buffers, and the value, which is the last one if there are several.
fn given(launch: &Launch) -> Result<(Vec<GivenRoom>, Option<&[u8]>), DeviceError> {
    let (mut rooms, mut words) = (Vec::new(), None);
    for argument in launch.arguments() {
        match argument {
            LaunchArg::Memory {
                memory,
                range,
                writable,
            } => rooms.push(GivenRoom {
                address: Room::of(memory)?.address_of(range)?,
                bytes: range.len(),
                writable: *writable,
            }),
            LaunchArg::Value(bytes) => words = Some(&**bytes),
        }
    }
    Ok((rooms, words))
}

/// The library, on one stream; of one thread.
pub(super) struct Blas(cublasHandle_t);

impl Blas {
    /// `None`, if the library is not there or does not work.
    pub(super) fn new(stream: &CudaStream) -> Option<Blas> {
        // SAFETY: to look for a library runs what it does when it is loaded, and NVIDIA's may be
        // loaded.
        if !unsafe { sys::is_culib_present() } {
            return None;
        }
        // The context is bound to this thread, which is a lane's.
        let blas = Blas(result::create_handle().ok()?);
        // SAFETY: the handle was just made, and lives; so does the stream, as long as the lane that
        // has both.
        unsafe { result::set_stream(blas.0, stream.cu_stream().cast()) }.ok()?;
        Some(blas)
    }

    /// Puts a routine on the stream.
    pub(super) fn launch(&self, routine: Routine, launch: &Launch) -> Result<(), DeviceError> {
        let what = format!("`{}`: ", launch.kernel().name());
        let refuse = |text: String| Err(DeviceError::new(Cause::Kernel, format!("{what}{text}")));
        let (rooms, words) = given(launch)?;
        if let Some(text) = routine.objects(&rooms) {
            return refuse(text.into());
        }
        let call = words.and_then(|words| Call::checked(routine, words, &rooms));
        let Some(call) = call else {
            return refuse(format!("the arguments do not fit {routine:?}"));
        };
        if call.m == 0 || call.n == 0 {
            return Ok(());
        }
        let done = match routine.what {
            What::Trsm => self.solve(&call, routine.double),
            _ => self.multiply(&call, routine),
        };
        done.or_else(|error| refuse(format!("cuBLAS: {error}")))
    }

    fn multiply(&self, call: &Call, Routine { what, double }: Routine) -> Result<(), CublasError> {
        let &Call {
            m,
            n,
            k,
            rooms: [a, b, c],
        } = call;
        // cᵀ += bᵀ · aᵀ: what is stored as b is bᵀ already, unless it is given transposed.
        let (sign, how, b_step) = match what {
            What::GemmNt => (-1.0, cublasOperation_t::CUBLAS_OP_T, k),
            _ => (1.0, cublasOperation_t::CUBLAS_OP_N, n),
        };
        let as_is = cublasOperation_t::CUBLAS_OP_N;
        let steps = [b_step, k, n].map(|step| step.max(1));
        // SAFETY: the handle lives. The three matrices are of the sizes that `Call::checked` has
        // compared with their rooms, which the launch holds until it has ended, the last one alone:
        // `Routine::objects` has seen to that. Both factors are on the host, where the library
        // looks for them unless told otherwise, and are read before the call returns.
        unsafe {
            if double {
                let (sign, one) = (f64::from(sign), 1.0_f64);
                let [a, b, c] = [a, b, c].map(|at| at as *mut f64);
                result::dgemm(
                    self.0, how, as_is, n, m, k, &sign, b, steps[0], a, steps[1], &one, c, steps[2],
                )
            } else {
                let one = 1.0_f32;
                let [a, b, c] = [a, b, c].map(|at| at as *mut f32);
                result::sgemm(
                    self.0, how, as_is, n, m, k, &sign, b, steps[0], a, steps[1], &one, c, steps[2],
                )
            }
        }
    }

    fn solve(&self, call: &Call, double: bool) -> Result<(), CublasError> {
        let &Call {
            m,
            n,
            rooms: [l, a, _],
            ..
        } = call;
        // l · Xᵀ = aᵀ: what is stored as l is lᵀ, an upper triangle; transposed, it is l.
        let (left, upper) = (
            cublasSideMode_t::CUBLAS_SIDE_LEFT,
            cublasFillMode_t::CUBLAS_FILL_MODE_UPPER,
        );
        let (how, diagonal) = (
            cublasOperation_t::CUBLAS_OP_T,
            cublasDiagType_t::CUBLAS_DIAG_NON_UNIT,
        );
        // SAFETY: the handle lives. Both matrices are of the sizes that `Call::checked` has
        // compared with their rooms, which the launch holds until it has ended, the last one alone:
        // `Routine::objects` has seen to that. The factor is on the host and is read before the
        // call returns.
        let status = unsafe {
            if double {
                let (one, l, a) = (1.0_f64, l as *const f64, a as *mut f64);
                sys::cublasDtrsm_v2(self.0, left, upper, how, diagonal, n, m, &one, l, n, a, n)
            } else {
                let (one, l, a) = (1.0_f32, l as *const f32, a as *mut f32);
                sys::cublasStrsm_v2(self.0, left, upper, how, diagonal, n, m, &one, l, n, a, n)
            }
        };
        status.result()
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle was made in `new`, and is given back once, here, by the thread that
        // used it. An error would be that of a device that is lost.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// The arguments of a routine, checked.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    m: c_int,
    n: c_int,
    k: c_int,
    /// Addresses; 0 where there is none.
    rooms: [u64; 3],
}

impl Call {
    /// `None`, if they are not what the routine takes, or lie in too little room.
    fn checked(routine: Routine, words: &[u8], given: &[GivenRoom]) -> Option<Call> {
        let mut words = words
            .chunks_exact(4)
            .map(bytemuck::pod_read_unaligned::<u32>);
        let (m, n) = (words.next()?, words.next()?);
        let k = words.next().unwrap_or(0);
        let wanted = match routine.what {
            What::Gemm | What::GemmNt => vec![(m, k), (k, n), (m, n)],
            What::Trsm => vec![(n, n), (m, n)],
        };
        let number = routine.number() as u128;
        let fits = |(&(rows, columns), room): (&(u32, u32), &GivenRoom)| {
            u128::from(rows) * u128::from(columns) * number <= room.bytes as u128
        };
        if wanted.len() != given.len() || !wanted.iter().zip(given).all(fits) {
            return None;
        }
        let mut rooms = [0; 3];
        for (address, room) in rooms.iter_mut().zip(given) {
            *address = room.address;
        }
        let whole = |size: u32| c_int::try_from(size).ok();
        Some(Call {
            m: whole(m)?,
            n: whole(n)?,
            k: whole(k)?,
            rooms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routines_have_names() {
        let routine = |what, double| Some(Routine { what, double });
        assert_eq!(Routine::named("gemm_f32"), routine(What::Gemm, false));
        assert_eq!(Routine::named("gemm_nt_f64"), routine(What::GemmNt, true));
        assert_eq!(Routine::named("trsm_f64"), routine(What::Trsm, true));
        for name in ["gemm", "gemm_f16", "syrk_f32", ""] {
            assert_eq!(Routine::named(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_written_is_given_once_and_to_be_updated() {
        let objects = |double, rooms: &[(u64, usize, bool)]| {
            let rooms = rooms.iter().map(|&(address, bytes, writable)| GivenRoom {
                address,
                bytes,
                writable,
            });
            let what = What::Gemm;
            Routine { what, double }.objects(&rooms.collect::<Vec<_>>())
        };
        let right = [(0, 32, false), (0, 32, false), (32, 32, true)];
        assert_eq!(
            objects(true, &right),
            None,
            "both factors are one, and the third touches them"
        );
        assert_eq!(
            objects(true, &[(8, 0, false), (0, 32, true)]),
            None,
            "nothing of it is given"
        );
        let told = |double, rooms: &[_]| objects(double, rooms).unwrap_or_default();
        assert!(told(true, &[(0, 32, false), (32, 32, false)]).contains("`Arg::update`"));
        for overlaps in [(31, 32, true), (0, 1, true), (8, 8, true)] {
            let rooms = [(0, 32, false), overlaps];
            assert!(!told(false, &rooms).is_empty(), "{overlaps:?}");
        }
        assert!(told(true, &[(0, 32, false), (24, 32, true)]).contains("twice"));
        assert!(told(true, &[(0, 32, false), (36, 32, true)]).contains("within a number"));
        assert_eq!(
            objects(false, &[(0, 32, false), (36, 32, true)]),
            None,
            "of four bytes each"
        );
    }

    #[test]
    fn what_does_not_fit_is_not_called() {
        let gemm = Routine {
            what: What::Gemm,
            double: false,
        };
        let words = |words: &[u32]| bytemuck::cast_slice::<u32, u8>(words).to_vec();
        let check = |sizes: &[u32], bytes: &[usize]| {
            let rooms = (1..).zip(bytes).map(|(address, bytes)| GivenRoom {
                address,
                bytes: *bytes,
                writable: address == 3,
            });
            Call::checked(gemm, &words(sizes), &rooms.collect::<Vec<_>>())
        };
        let call = check(&[2, 3, 5, 0], &[40, 60, 24]).unwrap();
        assert_eq!((call.m, call.n, call.k, call.rooms), (2, 3, 5, [1, 2, 3]));
        assert_eq!(check(&[2, 3, 5, 0], &[40, 60, 23]), None);
        assert_eq!(check(&[2, 3, 5, 0], &[40, 59, 24]), None);
        assert_eq!(check(&[2, 3, 5, 0], &[40, 60]), None);
        assert_eq!(check(&[2], &[40, 60, 24]), None);
        assert_eq!(
            check(&[u32::MAX, u32::MAX, u32::MAX], &[usize::MAX; 3]),
            None
        );
    }
}
