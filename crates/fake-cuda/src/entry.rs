//! The entry points, by their names. Those of the driver answer with its numbers, those of NVRTC
//! and of cuBLAS with theirs; a mistake ends the process.
#![allow(unsafe_code)] // a library in C
#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    unreachable_pub,
    missing_docs,
    reason = "names and types are those of CUDA"
)]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{env, process, slice, thread};

use crate::blas::{self, Matrix, Number};
use crate::compiler::{self, Text};
use crate::driver::{Driver, Handle, PretendedMachine};
use crate::refusal::{Answer, ERRORS, INVALID_VALUE, Refusal};

/// Tells those who wait that the device does something again.
static LET_GO: Condvar = Condvar::new();

/// How long the end of the process waits for threads that still give contexts back.
const PATIENCE: Duration = Duration::from_secs(5);

fn driver() -> MutexGuard<'static, Driver> {
    static DRIVER: OnceLock<Mutex<Driver>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| {
        let number = |name: &str, otherwise: u64| {
            let given = env::var(format!("ROVING_FAKE_CUDA_{name}")).ok();
            given.map_or(otherwise, |text| {
                let number = text.parse();
                number.unwrap_or_else(|_| mistaken(name, &format!("{text:?} is no number")))
            })
        };
        let usual = PretendedMachine::default();
        Mutex::new(Driver::new(PretendedMachine {
            devices: number("DEVICES", usual.devices as u64) as usize,
            pools: number("POOLS", u64::from(usual.pools)) != 0,
            peers: number("PEERS", u64::from(usual.peers)) != 0,
            bytes: number("BYTES", usual.bytes),
            newest: number("NVRTC", usual.newest),
            load_ms: number("LOAD_MS", usual.load_ms),
            short: number("SHORT", usual.short),
            compiler_short: number("NVRTC_SHORT", usual.compiler_short),
        }))
    });
    // It panics nowhere half-way but in what then ends the process.
    driver.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mistaken(name: &str, text: &str) -> ! {
    eprintln!("the fake CUDA driver: {name}: {text}");
    process::abort();
}

/// The calls that end when the device has done something.
const WAITING: [&str; 4] = [
    "cuCtxSynchronize",
    "cuEventSynchronize",
    "cuMemFree_v2",
    "cuStreamSynchronize",
];

/// Does a call, which is counted.
fn answer(name: &str, call: impl FnOnce(&mut Driver) -> Answer<()>) -> c_int {
    let mut driver = driver();
    driver.count(name);
    while driver.is_held && WAITING.contains(&name) {
        let woken = LET_GO.wait(driver);
        driver = woken.unwrap_or_else(PoisonError::into_inner);
    }
    match call(&mut driver) {
        Ok(()) => 0,
        Err(Refusal::Code(code)) => code,
        Err(Refusal::Mistake(text)) => mistaken(name, &text),
    }
}

/// Writes to a place that the caller gave.
///
/// # Safety
/// It is null, or one may write a `T` there.
unsafe fn give<T>(place: *mut T, value: T) -> Answer<()> {
    if place.is_null() {
        return Err(Refusal::Code(INVALID_VALUE));
    }
    // SAFETY: as the caller promises.
    unsafe { place.write(value) };
    Ok(())
}

extern "C" fn at_the_end() {
    let until = Instant::now() + PATIENCE;
    loop {
        let left = driver().left();
        if left.is_empty() {
            break;
        }
        if Instant::now() > until {
            mistaken("the end", &format!("there is still {}", left.join(", ")));
        }
        thread::sleep(Duration::from_millis(5));
    }
    driver().compiler.clean();
}

macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) |$driver:ident| $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            #[allow(unused_unsafe, reason = "some entry points touch nothing of their caller")]
            // SAFETY: a caller of C promises that places may be written, texts end with NUL, and
            // lists have as many entries as it says.
            answer(stringify!($name), |$driver| unsafe { $body })
        }
    )*};
}

entries! {
    cuInit(flags: c_uint) |_driver| {
        static AT_THE_END: Once = Once::new();
        AT_THE_END.call_once(|| {
            libc::atexit(at_the_end);
        });
        if flags == 0 { Ok(()) } else { Err(Refusal::Code(INVALID_VALUE)) }
    };
    cuDriverGetVersion(version: *mut c_int) |_driver| give(version, 12_080);
    cuDeviceGetCount(count: *mut c_int) |driver| give(count, driver.devices() as c_int);
    cuDeviceGet(device: *mut c_int, ordinal: c_int) |driver| {
        driver.device(ordinal)?;
        give(device, ordinal)
    };
    cuDeviceGetName(text: *mut c_char, len: c_int, device: c_int) |driver| {
        driver.device(device)?;
        let name = c"fake";
        if (len as usize) < name.count_bytes() + 1 {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        name.as_ptr().copy_to_nonoverlapping(text, name.count_bytes() + 1);
        Ok(())
    };
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) |driver| {
        driver.device(device)?;
        match attribute {
            75 => give(value, compiler::GENERATION as c_int / 10),
            76 => give(value, compiler::GENERATION as c_int % 10),
            97 => give(value, compiler::SHARED_MAX as c_int),
            115 => give(value, c_int::from(driver.pools())),
            _ => Err(Refusal::Mistake(format!("it does not know attribute {attribute}"))),
        }
    };
    cuDeviceGetDefaultMemPool(pool: *mut u64, device: c_int) |driver| {
        driver.device(device)?;
        give(pool, 16 + device as u64)
    };
    cuMemPoolSetAttribute(_pool: u64, attribute: c_int, _value: *mut c_void) |_driver| {
        match attribute {
            4 => Ok(()), // How much stays when it is freed: here all goes.
            _ => Err(Refusal::Mistake(format!("it does not know attribute {attribute}"))),
        }
    };
    cuMemPoolSetAccess(pool: u64, all: *const [c_int; 3], count: usize) |driver| {
        for [kind, device, flags] in slice::from_raw_parts(all, count) {
            if (*kind, *flags) != (1, 3) {
                let text = format!("it does not know access {flags} of a place of kind {kind}");
                return Err(Refusal::Mistake(text));
            }
            driver.open_pool(pool, *device)?;
        }
        Ok(())
    };
    cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) |driver| {
        give(can, c_int::from(driver.is_peer(device, peer)?))
    };
    cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) |driver| match flags {
        0 => driver.open_peer(peer),
        _ => Err(Refusal::Code(INVALID_VALUE)),
    };
    cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) |driver| {
        give(context, driver.retain(device)?)
    };
    cuDevicePrimaryCtxRelease_v2(device: c_int) |driver| driver.release(device);
    cuCtxGetCurrent(context: *mut Handle) |driver| {
        give(context, driver.current().unwrap_or(0))
    };
    cuCtxSetCurrent(context: Handle) |driver| {
        driver.set_current((context != 0).then_some(context))
    };
    cuCtxSynchronize() |driver| driver.wait_all();

    cuStreamCreate(stream: *mut Handle, flags: c_uint) |driver| match flags {
        1 => give(stream, driver.new_stream()?),
        _ => Err(Refusal::Mistake("a stream is to wait for the default stream".into())),
    };
    cuStreamDestroy_v2(stream: Handle) |driver| driver.destroy_stream(stream);
    cuStreamSynchronize(stream: Handle) |driver| driver.wait_stream(stream);
    cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) |driver| {
        driver.follow(stream, event)
    };
    // The flags: 1 to sleep while it is waited for, 2 without times.
    cuEventCreate(event: *mut Handle, flags: c_uint) |driver| match flags {
        0..=3 => give(event, driver.new_event(flags & 2 == 0)?),
        _ => Err(Refusal::Mistake(format!("it does not know the flags {flags}"))),
    };
    cuEventDestroy_v2(event: Handle) |driver| driver.destroy_event(event);
    cuEventRecord(event: Handle, stream: Handle) |driver| driver.record(event, stream);
    cuEventSynchronize(event: Handle) |driver| driver.wait_event(event);
    cuEventQuery(event: Handle) |driver| driver.query(event);
    cuEventElapsedTime(ms: *mut f32, from: Handle, to: Handle) |driver| {
        give(ms, driver.elapsed_ms(from, to)?)
    };

    cuMemGetInfo_v2(free: *mut usize, all: *mut usize) |driver| {
        let room = driver.room()?;
        give(free, room.0 as usize)?;
        give(all, room.1 as usize)
    };
    cuMemAlloc_v2(address: *mut u64, len: usize) |driver| give(address, driver.alloc(len)?);
    cuMemFree_v2(address: u64) |driver| driver.free_now(address);
    cuMemAllocAsync(address: *mut u64, len: usize, stream: Handle) |driver| {
        give(address, driver.alloc_on(stream, len)?)
    };
    cuMemFreeAsync(address: u64, stream: Handle) |driver| driver.free_on(stream, address);
    cuMemHostAlloc(address: *mut u64, len: usize, flags: c_uint) |driver| match flags {
        0 | 1 => give(address, driver.pin(len)?), // 1: for all contexts.
        _ => Err(Refusal::Mistake(format!("it does not know the flags {flags}"))),
    };
    cuMemFreeHost(address: u64) |driver| driver.unpin(address);
    cuMemcpyHtoDAsync_v2(to: u64, from: u64, len: usize, stream: Handle) |driver| {
        driver.copy_in(stream, to, from, len)
    };
    cuMemcpyDtoHAsync_v2(to: u64, from: u64, len: usize, stream: Handle) |driver| {
        driver.copy_out(stream, to, from, len)
    };

    cuMemcpyPeerAsync(
        to: u64, to_context: Handle, from: u64, from_context: Handle, len: usize, stream: Handle
    ) |driver| {
        driver.copy_between(stream, [to, from], [to_context, from_context], len)
    };

    cuModuleLoadData(module: *mut Handle, image: *const c_char) |driver| {
        give(module, driver.load(CStr::from_ptr(image))?)
    };
    cuModuleUnload(module: Handle) |driver| driver.unload(module);
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) |driver| {
        let name = CStr::from_ptr(name).to_string_lossy();
        give(function, driver.function(module, &name)?)
    };
    cuFuncGetParamInfo(
        function: Handle, index: usize, place: *mut usize, size: *mut usize
    ) |driver| {
        let (at, bytes) = driver.parameter(function, index)?;
        give(place, at)?;
        give(size, bytes)
    };
    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) |driver| {
        match attribute {
            8 => driver.share(function, value),
            _ => Err(Refusal::Mistake(format!("it does not know attribute {attribute}"))),
        }
    };
    cuLaunchKernel(
        function: Handle,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: Handle, given: *mut *mut c_void, extra: *mut *mut c_void
    ) |driver| {
        if !extra.is_null() {
            return Err(Refusal::Mistake("it knows no extra parameters".into()));
        }
        let sizes = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        driver.launch(function, sizes, shared, stream, |index, size| {
            slice::from_raw_parts((*given.add(index)).cast::<u8>(), size).to_vec()
        })
    };
    cuGetErrorName(code: c_int, text: *mut *const c_char) |_driver| {
        give(text, error(code)?.1.as_ptr())
    };
    cuGetErrorString(code: c_int, text: *mut *const c_char) |_driver| {
        give(text, error(code)?.2.as_ptr())
    };
}

fn error(code: c_int) -> Answer<(i32, &'static CStr, &'static CStr)> {
    let found = ERRORS.iter().find(|error| error.0 == code);
    found.copied().ok_or(Refusal::Code(INVALID_VALUE))
}

/// How often an entry point was called, by its name; see `Driver::counted` for other names.
///
/// # Safety
/// The text ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roving_fake_cuda_count(name: *const c_char) -> u64 {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    driver().counted(&name)
}

/// Lets all devices do nothing (1), or go on (0). Meanwhile, who waits for one waits.
#[unsafe(no_mangle)]
pub extern "C" fn roving_fake_cuda_hold(is_held: c_int) {
    driver().is_held = is_held != 0;
    LET_GO.notify_all();
}

/// A text for NVRTC, and what came of it.
struct Program {
    text: Text,
    module: Vec<u8>,
    /// For one generation, not as text for the driver's compiler.
    is_code: bool,
    log: Vec<u8>,
}

fn programs() -> MutexGuard<'static, HashMap<u64, Program>> {
    static PROGRAMS: OnceLock<Mutex<HashMap<u64, Program>>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(Mutex::default);
    programs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program of that handle, which must be there.
fn with_program<T>(handle: u64, then: impl FnOnce(&mut Program) -> Answer<T>) -> Answer<T> {
    match programs().get_mut(&handle) {
        Some(program) => then(program),
        None => Err(Refusal::Mistake(
            "a program is used that is not there".into(),
        )),
    }
}

fn ended(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    bytes.push(0);
    bytes
}

/// NVRTC's number for a lack of memory.
const NO_MEMORY: i32 = 1;
/// NVRTC's number for a text that does not compile.
const NOT_COMPILED: i32 = 6;
/// NVRTC's number for an option that it does not know.
const UNKNOWN_OPTION: i32 = 5;

/// The generations that NVRTC knows here.
fn generations(driver: &Driver) -> Vec<c_int> {
    let newest = driver.settings.newest;
    let known = compiler::KNOWN.iter().filter(|known| **known <= newest);
    known.map(|known| *known as c_int).collect()
}

entries! {
    nvrtcCreateProgram(
        program: *mut u64, source: *const c_char, name: *const c_char,
        headers: c_int, texts: *const *const c_char, names: *const *const c_char
    ) |_driver| {
        let text = |at: *const c_char| CStr::from_ptr(at).to_string_lossy().into_owned();
        let named = if name.is_null() { c"default_program" } else { CStr::from_ptr(name) };
        let header = |index| (text(*names.add(index)), text(*texts.add(index)));
        let new = Program {
            text: Text {
                source: text(source),
                name: named.to_string_lossy().into_owned(),
                headers: (0..headers as usize).map(header).collect(),
                folders: Vec::new(),
            },
            module: Vec::new(),
            is_code: false,
            log: vec![0],
        };
        static NUMBER: Mutex<u64> = Mutex::new(0);
        let mut number = NUMBER.lock().unwrap_or_else(PoisonError::into_inner);
        *number += 16;
        programs().insert(*number, new);
        give(program, *number)
    };
    nvrtcCompileProgram(program: u64, count: c_int, options: *const *const c_char) |driver| {
        let options: Vec<_> = (0..count as usize)
            .map(|index| CStr::from_ptr(*options.add(index)).to_string_lossy())
            .collect();
        let options: Vec<&str> = options.iter().map(|option| &**option).collect();
        if driver.settings.compiler_short > 0 {
            driver.settings.compiler_short -= 1;
            return Err(Refusal::Code(NO_MEMORY));
        }
        let target = compiler::target(&options, driver.settings.newest);
        with_program(program, |of| {
            let Some((target, folders)) = target else {
                of.log = ended(&format!("error: the fake NVRTC does not know {options:?}"));
                return Err(Refusal::Code(UNKNOWN_OPTION));
            };
            of.is_code = target.starts_with("sm");
            of.text.folders = folders;
            match driver.compiler.compile(&of.text, target) {
                Ok(module) => of.module = ended(&module),
                Err(log) => {
                    of.log = ended(&log);
                    return Err(Refusal::Code(NOT_COMPILED));
                }
            }
            Ok(())
        })
    };
    nvrtcGetNumSupportedArchs(count: *mut c_int) |driver| {
        give(count, generations(driver).len() as c_int)
    };
    nvrtcGetSupportedArchs(known: *mut c_int) |driver| {
        let generations = generations(driver);
        generations.as_ptr().copy_to_nonoverlapping(known, generations.len());
        Ok(())
    };
    nvrtcGetCUBINSize(program: u64, size: *mut usize) |_driver| {
        with_program(program, |of| give(size, if of.is_code { of.module.len() } else { 0 }))
    };
    nvrtcGetCUBIN(program: u64, code: *mut c_char) |_driver| {
        with_program(program, |of| {
            if !of.is_code {
                return Err(Refusal::Mistake("code is asked for where text was made".into()));
            }
            of.module.as_ptr().copy_to_nonoverlapping(code.cast(), of.module.len());
            Ok(())
        })
    };
    nvrtcGetPTXSize(program: u64, size: *mut usize) |_driver| {
        with_program(program, |of| give(size, of.module.len()))
    };
    nvrtcGetPTX(program: u64, text: *mut c_char) |_driver| {
        with_program(program, |of| {
            of.module.as_ptr().copy_to_nonoverlapping(text.cast(), of.module.len());
            Ok(())
        })
    };
    nvrtcGetProgramLogSize(program: u64, size: *mut usize) |_driver| {
        with_program(program, |of| give(size, of.log.len()))
    };
    nvrtcGetProgramLog(program: u64, text: *mut c_char) |_driver| {
        with_program(program, |of| {
            of.log.as_ptr().copy_to_nonoverlapping(text.cast(), of.log.len());
            Ok(())
        })
    };
    nvrtcDestroyProgram(program: *mut u64) |_driver| {
        if programs().remove(&*program).is_none() {
            return Err(Refusal::Mistake("a program is destroyed that is not there".into()));
        }
        give(program, 0)
    };
}

/// cuBLAS's number for a value that is wrong.
const BLAS_INVALID: i32 = 7;

fn matrix(at: u64, sides: [c_int; 3]) -> Answer<Matrix> {
    Matrix::new(at, sides).ok_or(Refusal::Code(BLAS_INVALID))
}

/// Whether a factor is transposed.
fn is_turned(operation: c_int) -> Answer<bool> {
    match operation {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Refusal::Mistake("it knows no conjugates".into())),
    }
}

/// # Safety
/// Both factors can be read.
unsafe fn gemm<T: Number>(
    driver: &mut Driver,
    blas: Handle,
    turned: [c_int; 2],
    [m, n, k]: [c_int; 3],
    [by, with]: [*const T; 2],
    matrices: [(u64, c_int); 3],
) -> Answer<()> {
    let turned = [is_turned(turned[0])?, is_turned(turned[1])?];
    let [a, b, c] = matrices;
    let sides = |is_turned, [rows, columns]: [c_int; 2], step| match is_turned {
        true => [columns, rows, step],
        false => [rows, columns, step],
    };
    let a = matrix(a.0, sides(turned[0], [m, k], a.1))?;
    let b = matrix(b.0, sides(turned[1], [k, n], b.1))?;
    let c = matrix(c.0, [m, n, c.1])?;
    // SAFETY: as the caller promises.
    let factors = unsafe { [*by, *with] };
    let uses = vec![a.used::<T>(false), b.used::<T>(false), c.used::<T>(true)];
    driver.routine(blas, "gemm", uses, move || {
        // SAFETY: the driver has found all three matrices in live blocks, which stay until then.
        unsafe { blas::gemm([a, b, c], turned, factors) }
    })
}

/// # Safety
/// The factor can be read.
unsafe fn trsm<T: Number>(
    driver: &mut Driver,
    blas: Handle,
    how: [c_int; 4],
    [m, n]: [c_int; 2],
    by: *const T,
    [a, b]: [(u64, c_int); 2],
) -> Answer<()> {
    // From the left, an upper triangle, transposed, with a diagonal of its own.
    if how != [0, 1, 1, 0] {
        return Err(Refusal::Mistake(format!(
            "it knows one form of trsm, not {how:?}"
        )));
    }
    let a = matrix(a.0, [m, m, a.1])?;
    let b = matrix(b.0, [m, n, b.1])?;
    // SAFETY: as the caller promises.
    let factor = unsafe { *by };
    driver.routine(
        blas,
        "trsm",
        vec![a.used::<T>(false), b.used::<T>(true)],
        move || {
            // SAFETY: the driver has found both matrices in live blocks, which stay until then.
            unsafe { blas::solve(a, b, factor) }
        },
    )
}

entries! {
    cublasCreate_v2(blas: *mut Handle) |driver| give(blas, driver.new_blas()?);
    cublasDestroy_v2(blas: Handle) |driver| driver.destroy_blas(blas);
    cublasSetStream_v2(blas: Handle, stream: Handle) |driver| driver.set_blas_stream(blas, stream);
    cublasSgemm_v2(
        blas: Handle, a_turned: c_int, b_turned: c_int, m: c_int, n: c_int, k: c_int,
        by: *const f32, a: u64, a_step: c_int, b: u64, b_step: c_int,
        with: *const f32, c: u64, c_step: c_int
    ) |driver| {
        let matrices = [(a, a_step), (b, b_step), (c, c_step)];
        gemm(driver, blas, [a_turned, b_turned], [m, n, k], [by, with], matrices)
    };
    cublasDgemm_v2(
        blas: Handle, a_turned: c_int, b_turned: c_int, m: c_int, n: c_int, k: c_int,
        by: *const f64, a: u64, a_step: c_int, b: u64, b_step: c_int,
        with: *const f64, c: u64, c_step: c_int
    ) |driver| {
        let matrices = [(a, a_step), (b, b_step), (c, c_step)];
        gemm(driver, blas, [a_turned, b_turned], [m, n, k], [by, with], matrices)
    };
    cublasStrsm_v2(
        blas: Handle, side: c_int, fill: c_int, turned: c_int, diagonal: c_int,
        m: c_int, n: c_int, by: *const f32, a: u64, a_step: c_int, b: u64, b_step: c_int
    ) |driver| {
        let how = [side, fill, turned, diagonal];
        trsm(driver, blas, how, [m, n], by, [(a, a_step), (b, b_step)])
    };
    cublasDtrsm_v2(
        blas: Handle, side: c_int, fill: c_int, turned: c_int, diagonal: c_int,
        m: c_int, n: c_int, by: *const f64, a: u64, a_step: c_int, b: u64, b_step: c_int
    ) |driver| {
        let how = [side, fill, turned, diagonal];
        trsm(driver, blas, how, [m, n], by, [(a, a_step), (b, b_step)])
    };
}
