//! NVRTC without NVIDIA: the machine's C++ compiler builds a library of the kernels of a text.
#![allow(unsafe_code)] // loads a library and calls functions of it

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process, ptr, slice};

/// The words with which a module of ours begins; the target and the path of the library follow.
const MARK: &str = "// kernels for the fake CUDA driver: ";
const PRELUDE: &str = include_str!("kernel.hpp");

/// The beginning of the folders in which this process has its libraries.
fn folders() -> String {
    let folders = env::temp_dir().join(format!("roving-fake-cuda-{}-", process::id()));
    folders.to_string_lossy().into_owned()
}

/// A text to be built, and all that it may include.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) source: String,
    pub(crate) name: String,
    /// By name, and their texts.
    pub(crate) headers: Vec<(String, String)>,
    /// Where other headers are looked for.
    pub(crate) folders: Vec<String>,
}

/// The texts that were built, with what came of it.
pub(crate) struct Compiler {
    built: HashMap<Text, Result<String, String>>,
    /// Its own; there only after the first build.
    folder: PathBuf,
}

impl Default for Compiler {
    fn default() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Ordering: Relaxed; a number that nobody else has.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Compiler {
            built: HashMap::new(),
            folder: format!("{}{number}", folders()).into(),
        }
    }
}

/// The process has one, which it cleans when it ends; tests have more.
impl Drop for Compiler {
    fn drop(&mut self) {
        self.clean();
    }
}

impl Compiler {
    /// Removes what was built; what is loaded stays loaded.
    pub(crate) fn clean(&mut self) {
        self.built.clear();
        // It is there only if something was built.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Gives a module, or the log.
    pub(crate) fn compile(&mut self, text: &Text, target: &str) -> Result<String, String> {
        let (folder, number) = (&self.folder, self.built.len());
        let built = self.built.entry(text.clone());
        let library = built.or_insert_with(|| build(folder, number, text));
        let library = library.clone()?;
        Ok(format!("{MARK}{target} {library}"))
    }
}

/// The target that options ask for, and the folders of headers; `None`, if they ask for something
/// that NVRTC does not know.
pub(crate) fn target<'a>(options: &[&'a str], newest: u64) -> Option<(&'a str, Vec<String>)> {
    let (mut target, mut folders) = (None, Vec::new());
    for option in options {
        match option.split_once('=')? {
            ("--gpu-architecture", of) => target = Some(of),
            ("--include-path", folder) => folders.push(folder.to_owned()),
            _ => return None,
        }
    }
    let (kind, generation) = target?.split_once('_')?;
    let is_known =
        KNOWN.contains(&generation.parse().ok()?) && generation.parse::<u64>().ok()? <= newest;
    let is_target = is_known && ["sm", "compute"].contains(&kind);
    is_target.then_some((target?, folders))
}

/// The generations that its NVRTC may know.
pub(crate) const KNOWN: [u64; 6] = [70, 75, 80, 86, 89, 90];
/// That of its devices.
pub(crate) const GENERATION: u64 = 90;

/// So many bytes that are shared a launch may ask for, without and with leave.
pub(crate) const SHARED: u32 = 48 << 10;
pub(crate) const SHARED_MAX: u32 = 227 << 10;

/// The text with memory that a launch sizes as a pointer to where that is.
fn shared(source: &str) -> String {
    let mut pieces = source.split("extern __shared__");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (declared, rest) = piece.split_once(';').unwrap_or((piece, ""));
        let declared = declared.trim();
        let unaligned = declared.strip_prefix("__align__(");
        let declared = unaligned
            .and_then(|rest| rest.split_once(')'))
            .map_or(declared, |(_, rest)| rest.trim());
        let named = declared.strip_suffix("[]").map(str::trim);
        match named.and_then(|named| named.rsplit_once(' ')) {
            Some((of, name)) => text += &format!("{of} *{name} = ({of} *)fake_shared;"),
            // The compiler says what it is.
            None => text += &format!("extern __shared__ {declared};"),
        }
        text += rest;
    }
    text
}

/// The words for the compiler, whatever the text.
const WORDS: [&str; 8] = [
    "-std=c++17",
    "-O1",
    "-w",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-U_FORTIFY_SOURCE",
];

/// Where the library of a text and its headers is kept for other processes, or is to be: in the
/// folder that `ROVING_FAKE_CUDA_KEPT` names, if it does. Tests start many that build the same.
fn kept(whole: &str, headers: &[(String, String)]) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("ROVING_FAKE_CUDA_KEPT")?);
    let mut sum = DefaultHasher::new();
    (WORDS, whole, headers).hash(&mut sum);
    Some(folder.join(format!("{:016x}.so", sum.finish())))
}

fn build(folder: &Path, number: usize, text: &Text) -> Result<String, String> {
    let Text {
        source,
        name,
        headers,
        folders,
    } = text;
    let failed = |error: std::io::Error| format!("error: the fake NVRTC: {error}");
    fs::create_dir_all(folder).map_err(failed)?;
    let given = folder.join(format!("{number}.headers"));
    for (name, text) in headers {
        let at = given.join(name);
        fs::create_dir_all(at.parent().unwrap_or(&given)).map_err(failed)?;
        fs::write(at, text).map_err(failed)?;
    }
    let text = folder.join(format!("{number}.cpp"));
    let library = folder.join(format!("{number}.so"));
    let code = shared(source);
    let mut whole = format!("{PRELUDE}#line 1 \"{name}\"\n{code}\n#line 1 \"the fake NVRTC\"\n");
    for kernel in kernels(source) {
        whole += &format!(
            "extern \"C\" __global__ const FakeKernel *fake_kernel_{kernel}() \
             {{ return &FakeCall<&{kernel}>::kernel; }}\n"
        );
    }
    fs::write(&text, &whole).map_err(failed)?;
    let kept = kept(&whole, headers).filter(|_| folders.is_empty());
    if kept
        .as_ref()
        .is_some_and(|kept| fs::copy(kept, &library).is_ok())
    {
        return Ok(library.display().to_string());
    }
    let mut compiler = Command::new("c++");
    compiler.args(WORDS);
    compiler.arg(format!(
        "-DFAKE_BARRIERS={}",
        source.contains("__syncthreads")
    ));
    // Those that were given with the text come first, as NVRTC has it.
    compiler.arg("-I").arg(&given);
    for folder in folders {
        compiler.arg("-I").arg(folder);
    }
    compiler
        .env("LC_ALL", "C")
        .arg(&text)
        .arg("-o")
        .arg(&library);
    let output = compiler
        .output()
        .map_err(|error| format!("error: no C++ compiler: {error}"))?;
    if !output.status.success() {
        return Err(log(&String::from_utf8_lossy(&output.stderr), name));
    }
    if let Some(kept) = kept {
        // By one step: another process may look for it, or build the same.
        let whole = kept.with_extension(process::id().to_string());
        let _ = fs::copy(&library, &whole).and_then(|_| fs::rename(&whole, kept));
    }
    Ok(library.display().to_string())
}

/// The names of the kernels in a text.
fn kernels(source: &str) -> Vec<String> {
    let code: Vec<&str> = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .collect();
    let code = code.join("\n");
    let mut names = Vec::new();
    for after in code.split("__global__").skip(1) {
        // `void name(`, perhaps with bounds before it.
        let Some(after) = after.split_once("void") else {
            continue;
        };
        let mut after = after.1.trim_start();
        if let Some(bounds) = after.strip_prefix("__launch_bounds__") {
            after = bounds
                .split_once(')')
                .map_or("", |(_, rest)| rest)
                .trim_start();
        }
        let name: String = after
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if !name.is_empty() {
            names.push(name);
        }
    }
    names
}

/// The compiler's messages as NVRTC writes them: the line in brackets.
fn log(text: &str, name: &str) -> String {
    let lines = text.lines().map(|line| {
        let rest = line
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(':'));
        let split = rest.and_then(|rest| rest.split_once(':'));
        match split {
            Some((number, rest)) if number.parse::<u32>().is_ok() => {
                let message = rest.split_once(": ").map_or(rest, |(_, message)| message);
                format!("{name}({number}): {message}")
            }
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The layout of `FakeKernel` in the text before all kernels.
#[repr(C)]
struct Described {
    count: u32,
    sizes: *const u32,
    places: *const u32,
    kinds: *const u8,
    run: unsafe extern "C" fn(*mut *mut c_void, *const u32, *const u32, u32) -> c_int,
}

/// Whether a parameter is an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Value,
    Read,
    Written,
}

/// A kernel of a library that stays until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Size, place and kind of each parameter.
    pub(crate) parameters: Vec<(usize, usize, ParameterKind)>,
    /// So many bytes that are shared a launch may ask for.
    pub(crate) shared: u32,
    run: unsafe extern "C" fn(*mut *mut c_void, *const u32, *const u32, u32) -> c_int,
}

impl Function {
    /// Whether it ended without an address that is none.
    ///
    /// # Safety
    /// The parameters are as many bytes each as it has, and what its text does with them is sound
    /// where it may be: addresses out of bounds are looked for, not excluded.
    pub(crate) unsafe fn run(
        &self,
        parameters: &mut [Vec<u8>],
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
    ) -> bool {
        // Aligned, which a vector of bytes need not be.
        let mut places: Vec<Vec<u128>> = Vec::new();
        for bytes in parameters {
            let mut place = vec![0_u128; bytes.len().div_ceil(16).max(1)];
            // SAFETY: the place has at least as many bytes.
            unsafe {
                ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_mut_ptr().cast(), bytes.len());
            }
            places.push(place);
        }
        let mut places: Vec<*mut c_void> = places
            .iter_mut()
            .map(|place| place.as_mut_ptr().cast())
            .collect();
        // SAFETY: as many places as parameters, as the caller promises; the sizes have three words.
        unsafe { (self.run)(places.as_mut_ptr(), grid.as_ptr(), block.as_ptr(), shared) == 0 }
    }
}

/// A library of kernels.
#[derive(Debug)]
pub(crate) struct Library(*mut c_void);

// SAFETY: a handle of the loader, which takes it from any thread.
unsafe impl Send for Library {}

impl Library {
    /// `None`, if that is no module of ours.
    pub(crate) fn load(module: &CStr) -> Option<Library> {
        let (target, path) = module.to_str().ok()?.strip_prefix(MARK)?.split_once(' ')?;
        let (kind, generation) = target.split_once('_')?;
        let generation: u64 = generation.parse().ok()?;
        // Code is for one generation, text for all from one on.
        let fits = match kind {
            "sm" => generation == GENERATION,
            _ => generation <= GENERATION,
        };
        if !fits {
            return None;
        }
        if !path.starts_with(&folders()) {
            return None;
        }
        let path = CString::new(path).ok()?;
        // SAFETY: the text ends with NUL. The library is one that `build` made.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(Library(handle))
    }

    /// The kernel of that name, if it can be found by that name alone.
    pub(crate) fn function(&self, name: &str) -> Option<Function> {
        let symbol = |name: String| {
            let name = CString::new(name).ok()?;
            // SAFETY: the handle is never closed; the name ends with NUL.
            let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        symbol(name.to_owned())?;
        let describe = symbol(format!("fake_kernel_{name}"))?;
        // SAFETY: `build` wrote the function of that name, with this type; what it gives is static
        // and has the layout of `Described`, with as many entries as it says.
        let (described, sizes, places, kinds) = unsafe {
            let describe: extern "C" fn() -> *const Described = std::mem::transmute(describe);
            let described = &*describe();
            let count = described.count as usize;
            (
                described,
                slice::from_raw_parts(described.sizes, count),
                slice::from_raw_parts(described.places, count),
                slice::from_raw_parts(described.kinds, count),
            )
        };
        let kind = |kind| match kind {
            0 => ParameterKind::Value,
            1 => ParameterKind::Read,
            _ => ParameterKind::Written,
        };
        let sizes = sizes.iter().zip(places).zip(kinds);
        let parameters = sizes.map(|((size, at), of)| (*size as usize, *at as usize, kind(*of)));
        Some(Function {
            name: name.to_owned(),
            parameters: parameters.collect(),
            shared: SHARED,
            run: described.run,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_their_names() {
        let text = "// __global__ void none(\nextern \"C\" __global__ void\none (int x);\n\
                    __global__ void __launch_bounds__(64) two_2(float *a) {}";
        assert_eq!(kernels(text), ["one", "two_2"]);
    }

    #[test]
    fn memory_that_a_launch_sizes_is_a_pointer() {
        let text = "a;\nextern __shared__ __align__(16) unsigned char kept[];\nb";
        let want = "a;\nunsigned char *kept = (unsigned char *)fake_shared;\nb";
        assert_eq!(shared(text), want);
        assert_eq!(
            shared("no extern; __shared__ int a[3];"),
            "no extern; __shared__ int a[3];"
        );
    }

    #[test]
    fn messages_have_their_line_in_brackets() {
        let text = "add: In function 'add':\nadd:3:7: error: no such: thing\n   3 | x";
        let want = "add: In function 'add':\nadd(3): error: no such: thing\n   3 | x";
        assert_eq!(log(text, "add"), want);
    }

    #[test]
    fn targets_are_those_that_it_knows() {
        let option = |text| target(&[text], 86).map(|(target, _)| target);
        assert_eq!(option("--gpu-architecture=sm_80"), Some("sm_80"));
        assert_eq!(option("--gpu-architecture=compute_86"), Some("compute_86"));
        assert_eq!(option("--gpu-architecture=sm_89"), None);
        assert_eq!(option("--gpu-architecture=sm_81"), None);
        assert_eq!(option("--use_fast_math"), None);
        assert_eq!(target(&[], 86), None);
        let with = [
            "--include-path=a",
            "--gpu-architecture=sm_80",
            "--include-path=b",
        ];
        assert_eq!(
            target(&with, 86),
            Some(("sm_80", vec!["a".into(), "b".into()]))
        );
    }
}
