//! Kernels: what a device runs.
#![allow(unsafe_code)] // CUDA C++ is taken as it is

pub(crate) mod host_call;
pub(crate) mod stream_call;

use std::fmt;

use host_call::HostCall;
use stream_call::OnStream;

/// A function for devices, once for each back-end that is to run it. It is a `static`, so that each
/// device builds it once.
///
/// Argument number *i* of a launch is:
/// * in WGSL, binding *i* of group 0: a storage buffer, or for [`Arg::value`] a uniform one;
/// * in CUDA, parameter *i*: a pointer, or for [`Arg::value`] the value itself;
/// * in a function that queues on a stream, the *i*-th call of [`StreamCall::read`],
///   [`StreamCall::update`] or [`StreamCall::value`];
/// * in a host function, the *i*-th call of [`HostCall::read`], [`HostCall::update`] or
///   [`HostCall::value`].
///
/// ```
/// use roving_gpu::{HostCall, Kernel};
///
/// static DOUBLE: Kernel = Kernel::new("double")
///     .wgsl(
///         "@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;
///          @compute @workgroup_size(64)
///          fn double(@builtin(global_invocation_id) at: vec3<u32>) {
///              if at.x < arrayLength(&numbers) { numbers[at.x] *= 2.0; }
///          }",
///         "double",
///     )
///     .host(|call: &mut HostCall<'_>| call.update::<f32>().iter_mut().for_each(|x| *x *= 2.0));
/// assert_eq!(DOUBLE.name(), "double");
/// ```
///
/// [`Arg::value`]: crate::Arg::value
/// [`StreamCall::read`]: crate::StreamCall::read
/// [`StreamCall::update`]: crate::StreamCall::update
/// [`StreamCall::value`]: crate::StreamCall::value
pub struct Kernel {
    name: &'static str,
    wgsl: Option<Wgsl>,
    cuda: Option<Cuda>,
    library: Option<&'static str>,
    stream: Option<OnStream>,
    host: Option<fn(&mut HostCall<'_>)>,
}

/// A kernel for wgpu.
///
/// ```
/// use roving_gpu::Kernel;
///
/// static NOTHING: Kernel =
///     Kernel::new("nothing").wgsl("@compute @workgroup_size(1) fn nothing() {}", "nothing");
/// assert_eq!(NOTHING.as_wgsl().unwrap().entry, "nothing");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Wgsl {
    /// The source of the whole module.
    pub source: &'static str,
    /// The name of the function in it.
    pub entry: &'static str,
}

/// A kernel for CUDA.
///
/// ```
/// use roving_gpu::Kernel;
///
/// static NOTHING: Kernel =
///     // SAFETY: it does nothing.
///     unsafe { Kernel::new("nothing").cuda("extern \"C\" __global__ void nothing() {}", "nothing", [32, 1, 1]) };
/// assert_eq!(NOTHING.as_cuda().unwrap().block, [32, 1, 1]);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Cuda {
    /// The source of the whole module, for NVRTC.
    pub source: &'static str,
    /// The name of the function in it; `extern "C"`.
    pub entry: &'static str,
    /// The number of threads of a block.
    pub block: [u32; 3],
    /// The headers that the source may include, by name, each with its text.
    pub headers: &'static [(&'static str, &'static str)],
}

impl Kernel {
    /// Creates a kernel without any back-end. The name is for messages and traces.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// static NOTHING: Kernel = Kernel::new("nothing");
    /// assert!(NOTHING.as_wgsl().is_none() && NOTHING.as_host().is_none()); // no back-end can run it
    /// ```
    pub const fn new(name: &'static str) -> Self {
        Kernel {
            name,
            wgsl: None,
            cuda: None,
            library: None,
            stream: None,
            host: None,
        }
    }

    /// Adds the source for wgpu: a function of a module in WGSL, which says how large a workgroup
    /// is.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// static ONE: Kernel = Kernel::new("one").wgsl("@compute @workgroup_size(1) fn one() {}", "one");
    /// assert_eq!(ONE.as_wgsl().unwrap().entry, "one");
    /// ```
    #[must_use]
    pub const fn wgsl(mut self, source: &'static str, entry: &'static str) -> Self {
        self.wgsl = Some(Wgsl { source, entry });
        self
    }

    /// Adds the source for CUDA: an `extern "C"` function in CUDA C++, with so many threads in a
    /// block.
    ///
    /// # Safety
    /// A pointer in CUDA goes wherever it is told to, on some systems also into the memory of the
    /// host, and nobody checks. For all arguments and numbers of groups with which it is launched,
    /// the function must keep within the bytes of its buffers, write only to those that are
    /// updated, and have no data races. Values must be of the types that its parameters have; of
    /// these only the sizes are checked.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// // SAFETY: the function touches no memory.
    /// static ONE: Kernel = unsafe {
    ///     Kernel::new("one").cuda("extern \"C\" __global__ void one() {}", "one", [32, 1, 1])
    /// };
    /// assert_eq!(ONE.as_cuda().unwrap().block, [32, 1, 1]);
    /// ```
    #[must_use]
    pub const unsafe fn cuda(
        mut self,
        source: &'static str,
        entry: &'static str,
        block: [u32; 3],
    ) -> Self {
        self.cuda = Some(Cuda {
            source,
            entry,
            block,
            headers: &[],
        });
        self
    }

    /// Adds headers that the source of [`Kernel::cuda`] includes: the name of each, and its text.
    /// CUDA's own, such as `cuda_fp16.h`, need not be added: they are found where the toolkit is
    /// installed, in the folder `include` below `CUDA_PATH` or `CUDA_HOME`, or else at the usual
    /// places. Headers that were added before, or have the name of one of CUDA's, are replaced.
    ///
    /// # Safety
    /// What [`Kernel::cuda`] asks for must hold of the source with these headers.
    ///
    /// # Panics
    /// If the kernel has no source for CUDA yet; at compile time, as kernels are statics.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// const TWICE: &str = "__device__ float twice(float x) { return x + x; }";
    /// // SAFETY: each thread keeps within the buffer, and writes to a number of its own.
    /// static DOUBLE: Kernel = unsafe {
    ///     Kernel::new("double").cuda(
    ///         r#"#include "twice.cuh"
    ///         extern "C" __global__ void twice_each(float *numbers, unsigned count) {
    ///             unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    ///             if (at < count) numbers[at] = twice(numbers[at]);
    ///         }"#,
    ///         "twice_each",
    ///         [64, 1, 1],
    ///     )
    ///     .headers(&[("twice.cuh", TWICE)])
    /// };
    /// assert_eq!(DOUBLE.as_cuda().unwrap().headers[0].0, "twice.cuh");
    /// ```
    ///
    /// Safe code gives a source that somebody else has vouched for no other headers:
    ///
    /// ```compile_fail,E0133
    /// use roving_gpu::Kernel;
    ///
    /// // SAFETY: the function touches no memory.
    /// const ONE: Kernel = unsafe {
    ///     Kernel::new("one").cuda("extern \"C\" __global__ void one() {}", "one", [32, 1, 1])
    /// };
    /// static OTHER: Kernel = ONE.headers(&[]);
    /// ```
    #[must_use]
    pub const unsafe fn headers(
        mut self,
        headers: &'static [(&'static str, &'static str)],
    ) -> Self {
        match &mut self.cuda {
            Some(cuda) => cuda.headers = headers,
            None => panic!("headers are for a source: call `Kernel::cuda` first"),
        }
        self
    }

    /// Adds a function that puts the kernel's work on a stream itself: a call of cuFFT, cuBLAS or
    /// any library that takes a stream, or several launches. It is called by the thread that gives
    /// the stream its operations, with the device's context current, and what it queues is ordered
    /// as a kernel would be: behind the copies and kernels that the task depends on, and before
    /// those that depend on it. A back-end with streams (CUDA) takes it before a routine of
    /// [`Kernel::library`] and before a source.
    ///
    /// An error fails the launch with that text, as a kernel's error does: the task's CPU side
    /// runs.
    ///
    /// # Safety
    /// For all arguments with which it is launched, what the function queues must keep within the
    /// bytes of its buffers, write only to those that are updated, and have no data races; it must
    /// be on that stream, or on others that are ordered with it by events before the function
    /// returns. The function must leave the current context as it was. It should not wait for the
    /// device: other operations of that stream wait meanwhile.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// // SAFETY: the call, which is the program's own, clears as many bytes as the buffer has.
    /// static CLEAR: Kernel = unsafe {
    ///     Kernel::new("clear").stream(|call| {
    ///         let (numbers, stream) = (call.update(), call.stream());
    ///         // such as: cuMemsetD8Async(numbers.address, 0, numbers.bytes, stream)
    ///         let _ = (numbers, stream);
    ///         Ok(())
    ///     })
    /// };
    /// assert!(CLEAR.as_stream().is_some());
    /// ```
    #[must_use]
    pub const unsafe fn stream(mut self, function: OnStream) -> Self {
        self.stream = Some(function);
        self
    }

    /// Adds a routine of the vendor's own library, by a name that the back-end knows. Where that
    /// library is missing, the back-end takes the source.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// static PRODUCT: Kernel = Kernel::new("product").library("sgemm");
    /// assert_eq!(PRODUCT.as_library(), Some("sgemm"));
    /// ```
    #[must_use]
    pub const fn library(mut self, routine: &'static str) -> Self {
        self.library = Some(routine);
        self
    }

    /// Adds a function for the host, which a [`crate::Simulated`] device runs.
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// static FILL: Kernel = Kernel::new("fill").host(|call| call.update::<u8>().fill(7));
    /// assert!(FILL.as_host().is_some());
    /// ```
    #[must_use]
    pub const fn host(mut self, function: fn(&mut HostCall<'_>)) -> Self {
        self.host = Some(function);
        self
    }

    /// Returns the kernel's name.
    ///
    /// ```
    /// assert_eq!(roving_gpu::Kernel::new("fill").name(), "fill");
    /// ```
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the argument of [`Kernel::wgsl`].
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// static ONE: Kernel = Kernel::new("one").wgsl("@compute @workgroup_size(1) fn one() {}", "one");
    /// assert!(ONE.as_wgsl().unwrap().source.contains("fn one()"));
    /// ```
    pub fn as_wgsl(&self) -> Option<Wgsl> {
        self.wgsl
    }

    /// Returns the argument of [`Kernel::cuda`].
    ///
    /// ```
    /// use roving_gpu::Kernel;
    ///
    /// // SAFETY: the function touches no memory.
    /// static ONE: Kernel = unsafe {
    ///     Kernel::new("one").cuda("extern \"C\" __global__ void one() {}", "one", [32, 1, 1])
    /// };
    /// assert_eq!(ONE.as_cuda().unwrap().entry, "one");
    /// ```
    pub fn as_cuda(&self) -> Option<Cuda> {
        self.cuda
    }

    /// Returns the argument of [`Kernel::library`].
    ///
    /// ```
    /// assert_eq!(roving_gpu::Kernel::new("fill").as_library(), None);
    /// ```
    pub fn as_library(&self) -> Option<&'static str> {
        self.library
    }

    /// Returns the argument of [`Kernel::stream`].
    ///
    /// ```
    /// assert!(roving_gpu::Kernel::new("fill").as_stream().is_none());
    /// ```
    pub fn as_stream(&self) -> Option<OnStream> {
        self.stream
    }

    /// Returns the argument of [`Kernel::host`].
    ///
    /// ```
    /// use roving_gpu::{HostArg, HostCall, Kernel};
    ///
    /// static FILL: Kernel = Kernel::new("fill").host(|call| call.update::<u8>().fill(7));
    /// let mut bytes = [0, 0];
    /// FILL.as_host().unwrap()(&mut HostCall::new([1, 1, 1], [HostArg::Update(&mut bytes)]));
    /// assert_eq!(bytes, [7, 7]);
    /// ```
    pub fn as_host(&self) -> Option<fn(&mut HostCall<'_>)> {
        self.host
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
