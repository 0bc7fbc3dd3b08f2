//! Kernels, built for one device by NVRTC.
#![allow(unsafe_code)] // launches functions that were compiled from text

use std::env;
use std::ffi::{CString, OsString, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute, CUresult, cuFuncGetParamInfo};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, result};
use cudarc::nvrtc::result::{self as nvrtc, NvrtcError};
use cudarc::nvrtc::{CompileError, Ptx, sys};

use super::fault;
use super::memory::Room;
use crate::backend::built::BuiltKernels;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Launch, LaunchArg};
use crate::kernel::{Cuda, Kernel};

/// The modules that were built, by the address of their kernel, which is a static.
pub(super) struct Modules {
    context: Arc<CudaContext>,
    /// 10 times the device's generation, and the part of it behind the point.
    generation: c_int,
    /// So many bytes the threads of a block can share.
    shared_max: usize,
    built: BuiltKernels<usize, Built>,
}

/// A function, and how many bytes each of its parameters has.
#[derive(Clone)]
struct Built {
    function: CudaFunction,
    parameters: Arc<[usize]>,
    /// So many bytes that are shared each launch of it may ask for.
    shared: Arc<Mutex<usize>>,
}

/// So many bytes a launch may ask for without more ado.
const SHARED: usize = 48 << 10;

impl Modules {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DeviceError> {
        let (major, minor) = context
            .compute_capability()
            .map_err(|error| fault::of(error, ""))?;
        let most = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let shared_max = context.attribute(most);
        let shared_max = shared_max.map_err(|error| fault::of(error, ""))?;
        Ok(Modules {
            shared_max: usize::try_from(shared_max).unwrap_or(0).max(SHARED),
            context: Arc::clone(context),
            generation: 10 * major + minor,
            built: BuiltKernels::default(),
        })
    }

    /// Builds the kernel, unless that has been done.
    pub(super) fn prepare(&self, kernel: &'static Kernel) -> Result<(), DeviceError> {
        self.built(kernel).map(drop)
    }

    /// Launches the kernel from its source.
    pub(super) fn launch(&self, launch: &Launch, stream: &CudaStream) -> Result<(), DeviceError> {
        let what = format!("`{}`: ", launch.kernel().name());
        let (cuda, built) = self.built(launch.kernel())?;
        let addresses = addresses(launch)?;
        let mut parameters = Vec::with_capacity(launch.arguments().len());
        for (argument, address) in launch.arguments().iter().zip(&addresses) {
            let bytes = match argument {
                LaunchArg::Memory { .. } => bytemuck::bytes_of(address),
                LaunchArg::Value(bytes) => bytes,
            };
            parameters.push(bytes);
        }
        let sizes: Vec<usize> = parameters.iter().map(|bytes| bytes.len()).collect();
        if sizes[..] != built.parameters[..] {
            let wanted = &built.parameters;
            let text =
                format!("{what}its parameters have {wanted:?} bytes, the arguments {sizes:?}");
            return Err(DeviceError::new(Cause::Kernel, text));
        }
        let [x, y, z] = launch.groups();
        if x == 0 || y == 0 || z == 0 {
            return Ok(());
        }
        let places = parameters
            .iter()
            .map(|bytes| bytes.as_ptr().cast_mut().cast());
        let mut places: Vec<*mut c_void> = places.collect();
        let shared = self.shared(&built, launch.shared(), &what)?;
        // SAFETY: the function is of a module that it keeps itself. The call reads each of its
        // parameters before it returns, and writes none; there are as many places as parameters,
        // each with as many bytes, as just checked. The addresses are of rooms that the launch
        // holds until it has ended. What the function does with them is the program's own text.
        let launched = unsafe {
            result::launch_kernel(
                built.function.cu_function(),
                (x, y, z),
                cuda.block.into(),
                shared,
                stream.cu_stream(),
                &mut places,
            )
        };
        launched.map_err(|error| fault::of(error, &what))
    }

    /// Has the function's launches ask for so many bytes that are shared.
    fn shared(&self, built: &Built, bytes: usize, what: &str) -> Result<u32, DeviceError> {
        if bytes > self.shared_max {
            let most = self.shared_max;
            let text = format!("{what}{bytes} bytes that are shared; a block has at most {most}");
            return Err(DeviceError::new(Cause::Kernel, text));
        }
        // It only grows: other lanes launch the function, too.
        let mut allowed = built.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > *allowed {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let set = built.function.set_attribute(attribute, bytes as i32);
            set.map_err(|error| fault::of(error, what))?;
            *allowed = bytes;
        }
        Ok(bytes as u32)
    }

    /// Builds a kernel at its first use; other tasks that want it wait meanwhile.
    fn built(&self, kernel: &'static Kernel) -> Result<(Cuda, Built), DeviceError> {
        let what = format!("`{}`: ", kernel.name());
        let Some(cuda) = kernel.as_cuda() else {
            let text = format!("{what}it has no CUDA; give it some with `Kernel::cuda`");
            return Err(DeviceError::new(Cause::Kernel, text));
        };
        let key = ptr::from_ref(kernel).addr();
        let built = self.built.get(key, || self.build(cuda, &what))?;
        Ok((cuda, built))
    }

    fn build(&self, cuda: Cuda, what: &str) -> Result<Built, DeviceError> {
        let refuse = |text: &str| Err(DeviceError::new(Cause::Kernel, format!("{what}{text}")));
        // SAFETY: to look for a library runs what it does when it is loaded, and NVIDIA's may be
        // loaded.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            return refuse("NVRTC, the compiler, is not there: install libnvrtc of CUDA 12 or 13");
        }
        let headers = cuda.headers.iter().flat_map(|(name, text)| [name, text]);
        if [&cuda.source, &cuda.entry]
            .into_iter()
            .chain(headers)
            .any(|text| text.contains('\0'))
        {
            return refuse("there is a NUL in the source or in a header");
        }
        let ptx = compiled(cuda, self.generation).map_err(|error| match error {
            NotCompiled::For(oldest) => {
                let text = format!(
                    "{what}NVRTC is for devices of generation {oldest} or later, this is {}",
                    self.generation
                );
                DeviceError::new(Cause::Kernel, text)
            }
            NotCompiled::Error(error) => fault::of_compiler(&error, what),
        })?;
        let module = self.context.load_module(ptx);
        let module = module.map_err(|error| fault::of(error, what))?;
        let missing = format!("{what}`{}`, which must be `extern \"C\"`: ", cuda.entry);
        let function = module.load_function(cuda.entry);
        let function = function.map_err(|error| fault::of(error, &missing))?;
        let parameters = parameters(&function).map_err(|error| fault::of(error, what))?;
        Ok(Built {
            function,
            parameters,
            shared: Arc::new(Mutex::new(SHARED)),
        })
    }
}

/// Why NVRTC gave nothing.
enum NotCompiled {
    /// It knows devices from this generation on only.
    For(c_int),
    Error(CompileError),
}

/// Code for the device itself, which needs no compiler in the driver: one that is older than NVRTC
/// could not read its text. Where NVRTC does not know the device, text for the latest generation
/// before it, which the driver compiles.
fn compiled(cuda: Cuda, generation: c_int) -> Result<Ptx, NotCompiled> {
    let failed = |error| NotCompiled::Error(CompileError::CreationError(error));
    let known = generations().map_err(failed)?;
    let before = known.iter().copied().filter(|known| *known <= generation);
    let Some(latest) = before.max() else {
        return Err(NotCompiled::For(known.into_iter().min().unwrap_or(0)));
    };
    let is_code = latest == generation;
    let kind = if is_code { "sm" } else { "compute" };
    let mut options = vec![format!("--gpu-architecture={kind}_{latest}")];
    options.extend(toolkit().map(|folder| format!("--include-path={folder}")));
    let program = Program::new(cuda).map_err(failed)?;
    program.compile(options).map_err(NotCompiled::Error)?;
    let given = if is_code {
        program.code().map(Ptx::from_binary)
    } else {
        program.text().map(Ptx::from_src)
    };
    given.map_err(|error| NotCompiled::Error(CompileError::GetPtxError(error)))
}

/// The generations that NVRTC knows, as numbers.
fn generations() -> Result<Vec<c_int>, NvrtcError> {
    let mut count = 0;
    // SAFETY: the place is written before the call returns.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }.result()?;
    let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: there is room for as many as it has said.
    unsafe { sys::nvrtcGetSupportedArchs(known.as_mut_ptr()) }.result()?;
    Ok(known)
}

/// The folder of CUDA's own headers, where the toolkit is installed.
fn toolkit() -> Option<&'static str> {
    static FOLDER: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let named = ["CUDA_PATH", "CUDA_HOME"]
            .into_iter()
            .filter_map(env::var_os);
        let usual = ["/usr/local/cuda", "/opt/cuda", "/usr"].map(OsString::from);
        let folders = named
            .chain(usual)
            .map(|root| Path::new(&root).join("include"));
        let folder = folders
            .into_iter()
            .find(|folder| folder.join("cuda_fp16.h").exists())?;
        // A path that is no text cannot be an option.
        folder.into_os_string().into_string().ok()
    };
    FOLDER.get_or_init(find).as_deref()
}

/// A text for NVRTC.
struct Program(sys::nvrtcProgram);

impl Program {
    /// There is no NUL in the source and the name.
    fn new(cuda: Cuda) -> Result<Program, NvrtcError> {
        let ended = |text: &str| CString::new(text).unwrap_or_default();
        let [source, name] = [cuda.source, cuda.entry].map(ended);
        let headers = cuda.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, text)| (ended(name), ended(text)))
            .collect();
        let texts: Vec<_> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let (mut program, count) = (ptr::null_mut(), headers.len() as c_int);
        let (source, name) = (source.as_ptr(), name.as_ptr());
        // SAFETY: all texts end with NUL and live until the call has returned, which copies them;
        // there are as many of either as it is told; the place is written before it returns.
        let created = unsafe {
            let (texts, names) = (texts.as_ptr(), names.as_ptr());
            sys::nvrtcCreateProgram(&mut program, source, name, count, texts, names)
        };
        created.result().map(|()| Program(program))
    }

    fn compile(&self, options: Vec<String>) -> Result<(), CompileError> {
        // SAFETY: the program lives until the drop.
        let compiled = unsafe { nvrtc::compile_program(self.0, &options) };
        compiled.map_err(|nvrtc| {
            // SAFETY: the program lives until the drop.
            let log = unsafe { nvrtc::get_program_log(self.0) }.unwrap_or_default();
            let log = log
                .into_iter()
                .map(|letter| letter as u8)
                .take_while(|letter| *letter != 0);
            CompileError::CompileError {
                nvrtc,
                options,
                log: CString::new(log.collect::<Vec<_>>()).unwrap_or_default(),
            }
        })
    }

    /// Compiled for one generation.
    fn code(&self) -> Result<Vec<u8>, NvrtcError> {
        let mut size = 0;
        // SAFETY: the program lives; the place is written before the call returns.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) }.result()?;
        let mut code = vec![0; size];
        // SAFETY: the program lives; there is room for as much as it has said.
        unsafe { sys::nvrtcGetCUBIN(self.0, code.as_mut_ptr().cast()) }.result()?;
        Ok(code)
    }

    /// Compiled for the driver's compiler.
    fn text(&self) -> Result<String, NvrtcError> {
        // SAFETY: the program lives.
        let text = unsafe { nvrtc::get_ptx(self.0) }?;
        let text = text
            .into_iter()
            .map(|letter| letter as u8)
            .take_while(|letter| *letter != 0);
        Ok(String::from_utf8_lossy(&text.collect::<Vec<_>>()).into_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it was made in `new`, and goes once, here.
        let _ = unsafe { nvrtc::destroy_program(self.0) };
    }
}

/// The sizes of a function's parameters.
fn parameters(function: &CudaFunction) -> Result<Arc<[usize]>, DriverError> {
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is alive; both places are written before the call returns.
        let asked = unsafe {
            cuFuncGetParamInfo(function.cu_function(), sizes.len(), &mut offset, &mut size)
        };
        match asked.result() {
            Ok(()) => sizes.push(size),
            // This is how it says that there are no more.
            Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)) => return Ok(sizes.into()),
            Err(error) => return Err(error),
        }
    }
}

/// The address at which each argument begins; 0 for values.
fn addresses(launch: &Launch) -> Result<Vec<u64>, DeviceError> {
    let address = |argument: &LaunchArg| match argument {
        LaunchArg::Memory { memory, range, .. } => Room::of(memory)?.address_of(range),
        LaunchArg::Value(_) => Ok(0),
    };
    launch.arguments().iter().map(address).collect()
}
