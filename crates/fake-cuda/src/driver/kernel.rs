//! Modules, their kernels, and the routines of cuBLAS.
#![allow(unsafe_code)] // runs what was compiled from text

use std::thread;
use std::time::Duration;

use super::{Blas, Driver, Handle, Module, StreamOperation, StreamStep, Use, not_live};
use crate::compiler::{Library, ParameterKind, SHARED_MAX};
use crate::refusal::{
    Answer, INVALID_PTX, INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, Refusal, mistake,
};

impl Driver {
    pub(crate) fn load(&mut self, module: &std::ffi::CStr) -> Answer<Handle> {
        let context = self.bound()?;
        if self.settings.short > 0 {
            self.settings.short -= 1;
            return Err(Refusal::Code(OUT_OF_MEMORY));
        }
        let library = Library::load(module).ok_or(Refusal::Code(INVALID_PTX))?;
        let handle = self.make("module");
        self.modules.insert(handle, Module { context, library });
        Ok(handle)
    }

    pub(crate) fn unload(&mut self, module: Handle) -> Answer<()> {
        let context = live!(self, modules, "module", module)?.context;
        self.bound_to(context, "module")?;
        let runs = |operation: &StreamOperation| match &operation.work {
            StreamStep::Run(task) => task.module == Some(module),
            _ => false,
        };
        if self
            .streams
            .values()
            .any(|stream| stream.waiting.iter().any(runs))
        {
            return mistake("a module goes before its kernels have run");
        }
        self.modules.remove(&module);
        self.functions.retain(|_, (of, _)| *of != module);
        Ok(())
    }

    pub(crate) fn function(&mut self, module: Handle, name: &str) -> Answer<Handle> {
        let of = live!(self, modules, "module", module)?;
        let context = of.context;
        let function = of.library.function(name).ok_or(Refusal::Code(NOT_FOUND))?;
        self.bound_to(context, "module")?;
        let handle = self.make("function");
        self.functions.insert(handle, (module, function));
        Ok(handle)
    }

    /// Place and size of a parameter.
    pub(crate) fn parameter(&mut self, function: Handle, index: usize) -> Answer<(usize, usize)> {
        let (_, function) = live!(self, functions, "function", function)?;
        let parameter = function.parameters.get(index);
        let (size, place, _) = parameter.ok_or(Refusal::Code(INVALID_VALUE))?;
        Ok((*place, *size))
    }

    /// Gives a function's launches leave to ask for so many bytes that are shared.
    pub(crate) fn share(&mut self, function: Handle, bytes: i32) -> Answer<()> {
        let (_, function) = live!(self, functions, "function", function)?;
        let bytes = u32::try_from(bytes).ok();
        let bytes = bytes.filter(|bytes| *bytes <= SHARED_MAX);
        function.shared = bytes.ok_or(Refusal::Code(INVALID_VALUE))?;
        Ok(())
    }

    /// Runs a kernel in the order of the stream. `given` reads the bytes of a parameter.
    pub(crate) fn launch(
        &mut self,
        handle: Handle,
        [grid, block]: [[u32; 3]; 2],
        shared: u32,
        stream: Handle,
        given: impl Fn(usize, usize) -> Vec<u8>,
    ) -> Answer<()> {
        let (module, function) = live!(self, functions, "function", handle)?.clone();
        if shared > function.shared {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        let context = live!(self, modules, "module", module)?.context;
        self.bound_to(context, "function")?;
        let threads: u64 = block.iter().map(|side| u64::from(*side)).product();
        if grid.contains(&0) || threads == 0 || threads > 1024 || grid[1].max(grid[2]) > 65535 {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        if self.loaded.insert(handle) {
            thread::sleep(Duration::from_millis(self.settings.load_ms));
        }
        let what = format!("`{}`", function.name);
        let (mut parameters, mut uses) = (Vec::new(), Vec::new());
        for (index, (size, _, kind)) in function.parameters.iter().enumerate() {
            let bytes = given(index, *size);
            if let (ParameterKind::Read | ParameterKind::Written, Ok(address)) =
                (kind, bytes[..].try_into())
            {
                let address = u64::from_ne_bytes(address);
                let block = self.block(&(address..address + 1), &what)?;
                // It may use all from there on.
                let bytes = address..block.range().end;
                let writes = *kind == ParameterKind::Written;
                uses.push(Use { bytes, writes });
            }
            parameters.push(bytes);
        }
        let caller = self.caller();
        let is_trip = caller.waited && caller.launched;
        (caller.waited, caller.launched) = (false, true);
        if is_trip {
            self.count("round trips");
        }
        let run = move || {
            let mut parameters = parameters;
            // SAFETY: as many bytes as it has, read by their sizes. The addresses are in live
            // blocks, which stay until then: to free them earlier is a mistake that is found.
            unsafe { function.run(&mut parameters, grid, block, shared) }
        };
        self.give_run(stream, &uses, &what, Some(module), Box::new(run))
    }

    pub(crate) fn new_blas(&mut self) -> Answer<Handle> {
        let context = self.bound()?;
        let handle = self.make("handle of cuBLAS");
        let stream = None;
        self.blas.insert(handle, Blas { context, stream });
        Ok(handle)
    }

    pub(crate) fn destroy_blas(&mut self, blas: Handle) -> Answer<()> {
        live!(self, blas, "handle of cuBLAS", blas)?;
        self.blas.remove(&blas);
        Ok(())
    }

    pub(crate) fn set_blas_stream(&mut self, blas: Handle, stream: Handle) -> Answer<()> {
        self.on(stream)?;
        live!(self, blas, "handle of cuBLAS", blas)?.stream = Some(stream);
        Ok(())
    }

    pub(crate) fn routine(
        &mut self,
        blas: Handle,
        what: &str,
        uses: Vec<Use>,
        run: impl FnOnce() + Send + 'static,
    ) -> Answer<()> {
        let of = live!(self, blas, "handle of cuBLAS", blas)?;
        let (context, stream) = (of.context, of.stream);
        self.bound_to(context, "handle of cuBLAS")?;
        let Some(stream) = stream else {
            return mistake("a routine is to run on the default stream, which is not there");
        };
        let run = Box::new(move || {
            run();
            true
        });
        self.give_run(stream, &uses, what, None, run)
    }
}
