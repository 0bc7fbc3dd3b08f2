//! The driver: its objects, who may use them, and what is on the streams.

/// The live object of that handle, or the mistake.
macro_rules! live {
    ($driver:expr, $map:ident, $kind:literal, $handle:expr) => {{
        let handle: Handle = $handle;
        match $driver.$map.get_mut(&handle) {
            Some(found) => Ok(found),
            None => Err(not_live(&$driver.kinds, $kind, handle)),
        }
    }};
}

mod kernel;
mod memory;
mod operation;
mod peer;
mod stream;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::thread::{self, ThreadId};
use std::time::Instant;

use crate::clock::VectorClock;
use crate::compiler::{Compiler, Function, Library};
use crate::memory::MemoryBlock;
use crate::refusal::{Answer, INVALID_DEVICE, Refusal, mistake};

/// An object, by a number that no other object of the process ever has.
pub(crate) type Handle = u64;

/// The machine that it pretends to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PretendedMachine {
    pub(crate) devices: usize,
    /// Memory in the order of streams.
    pub(crate) pools: bool,
    /// Devices can look at each other's memory.
    pub(crate) peers: bool,
    /// On each device.
    pub(crate) bytes: u64,
    /// The newest generation that NVRTC knows.
    pub(crate) newest: u64,
    /// The first launch of a function takes so many milliseconds of the host's, as where the driver
    /// loads it then.
    pub(crate) load_ms: u64,
    /// For so many modules, which come first, there is no memory.
    pub(crate) short: u64,
    /// For so many texts, which come first, NVRTC has no memory.
    pub(crate) compiler_short: u64,
}

impl Default for PretendedMachine {
    fn default() -> Self {
        PretendedMachine {
            devices: 1,
            pools: true,
            peers: true,
            bytes: 1 << 30,
            newest: 90,
            load_ms: 0,
            short: 0,
            compiler_short: 0,
        }
    }
}

struct Device {
    context: Option<Handle>,
    retained: u32,
    used: u64,
}

struct Context {
    device: usize,
    /// The error after which it gives no other.
    lost: Option<i32>,
}

struct Stream {
    context: Handle,
    /// All that is before the next operation.
    clock: VectorClock,
    given: u64,
    done: u64,
    waiting: VecDeque<StreamOperation>,
}

/// An operation on a stream, by its number there.
struct StreamOperation {
    number: u64,
    work: StreamStep,
}

/// The part of an operation that is done when it runs. `false`: the device is lost.
type Run = Box<dyn FnOnce() -> bool + Send>;

/// A step that computes or copies.
struct RunStep {
    what: String,
    /// The blocks that it writes.
    writes: Vec<u64>,
    /// That of a kernel.
    module: Option<Handle>,
    run: Run,
}

/// The step that an operation of a stream makes.
enum StreamStep {
    Record(Handle, u64),
    /// After that operation of another stream.
    After(Handle, u64),
    Run(RunStep),
    Free(u64),
    Nothing,
}

struct CudaEvent {
    context: Handle,
    timed: bool,
    /// How often it was recorded; the last time as this operation, when all of the clock is before.
    recorded: u64,
    last: Option<(Handle, u64, VectorClock)>,
    /// When that ran, and as which time.
    ran: Option<(u64, Instant)>,
}

struct Module {
    context: Handle,
    library: Library,
}

/// The driver's notes about a thread.
#[derive(Default)]
struct Caller {
    current: Option<Handle>,
    /// It has waited since it put its last kernel on a stream.
    waited: bool,
    launched: bool,
}

/// The routine library, for one stream.
struct Blas {
    context: Handle,
    stream: Option<Handle>,
}

/// Bytes of one operation, for which it is ordered with others.
pub(crate) struct Use {
    pub(crate) bytes: Range<u64>,
    pub(crate) writes: bool,
}

pub(crate) struct Driver {
    pub(crate) settings: PretendedMachine,
    devices: Vec<Device>,
    contexts: HashMap<Handle, Context>,
    streams: HashMap<Handle, Stream>,
    events: HashMap<Handle, CudaEvent>,
    modules: HashMap<Handle, Module>,
    functions: HashMap<Handle, (Handle, Function)>,
    /// Functions that were launched.
    loaded: HashSet<Handle>,
    blas: HashMap<Handle, Blas>,
    /// By address.
    blocks: BTreeMap<u64, MemoryBlock>,
    /// Memory of the host that is pinned, by address.
    pinned: BTreeMap<u64, MemoryBlock>,
    /// The kind of each object that ever was.
    kinds: HashMap<Handle, &'static str>,
    /// All that somebody has waited for.
    host: VectorClock,
    callers: HashMap<ThreadId, Caller>,
    counts: BTreeMap<String, u64>,
    /// Contexts that the first may look at the memory of the second.
    peers: HashSet<(Handle, Handle)>,
    pub(crate) compiler: Compiler,
    /// The devices do nothing.
    pub(crate) is_held: bool,
}

fn not_live(kinds: &HashMap<Handle, &'static str>, kind: &str, handle: Handle) -> Refusal {
    Refusal::Mistake(match kinds.get(&handle) {
        _ if handle <= 2 => format!("the default {kind} is asked for, which is not there"),
        Some(was) if *was == kind => format!("a {kind} is used that was destroyed"),
        Some(was) => format!("a {kind} is asked for, and a {was} was given"),
        None => format!("a {kind} is used that never was"),
    })
}

impl Driver {
    pub(crate) fn new(settings: PretendedMachine) -> Driver {
        let device = |_| Device {
            context: None,
            retained: 0,
            used: 0,
        };
        Driver {
            settings,
            devices: (0..settings.devices).map(device).collect(),
            contexts: HashMap::new(),
            streams: HashMap::new(),
            events: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            loaded: HashSet::new(),
            blas: HashMap::new(),
            blocks: BTreeMap::new(),
            pinned: BTreeMap::new(),
            kinds: HashMap::new(),
            host: VectorClock::default(),
            callers: HashMap::new(),
            counts: BTreeMap::new(),
            peers: HashSet::new(),
            compiler: Compiler::default(),
            is_held: false,
        }
    }

    pub(crate) fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// How often that was called; `round trips`: how often a thread waited between two kernels;
    /// `waiting`: the operations that wait on streams now.
    pub(crate) fn counted(&self, what: &str) -> u64 {
        match what {
            "waiting" => self.streams.values().map(|s| s.waiting.len() as u64).sum(),
            _ => self.counts.get(what).copied().unwrap_or(0),
        }
    }

    fn make(&mut self, kind: &'static str) -> Handle {
        // No handle is one of the small numbers that mean something else.
        let handle = 0x1000 + 16 * self.kinds.len() as u64;
        self.kinds.insert(handle, kind);
        handle
    }

    fn caller(&mut self) -> &mut Caller {
        self.callers.entry(thread::current().id()).or_default()
    }

    // Devices and contexts.

    pub(crate) fn devices(&self) -> usize {
        self.devices.len()
    }

    pub(crate) fn pools(&self) -> bool {
        self.settings.pools
    }

    pub(crate) fn device(&mut self, ordinal: i32) -> Answer<usize> {
        let index = usize::try_from(ordinal).ok();
        let index = index.filter(|index| *index < self.devices.len());
        index.ok_or(Refusal::Code(INVALID_DEVICE))
    }

    pub(crate) fn retain(&mut self, ordinal: i32) -> Answer<Handle> {
        let index = self.device(ordinal)?;
        self.devices[index].retained += 1;
        if let Some(context) = self.devices[index].context {
            return Ok(context);
        }
        let context = self.make("context");
        let lost = None;
        self.contexts.insert(
            context,
            Context {
                device: index,
                lost,
            },
        );
        self.devices[index].context = Some(context);
        Ok(context)
    }

    pub(crate) fn release(&mut self, ordinal: i32) -> Answer<()> {
        let index = self.device(ordinal)?;
        let Some(context) = self.devices[index].context else {
            return mistake("the context of a device is released that nobody has");
        };
        self.devices[index].retained -= 1;
        if self.devices[index].retained > 0 {
            return Ok(());
        }
        // Of a device that is lost, nothing can be given back.
        if self.contexts[&context].lost.is_none() {
            let alive = self.alive(context);
            if !alive.is_empty() {
                return mistake(format!("a context goes with {} in it", alive.join(", ")));
            }
        }
        self.streams.retain(|_, stream| stream.context != context);
        self.blocks.retain(|_, block| block.context != context);
        self.pinned.retain(|_, block| block.context != context);
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.peers
            .retain(|(guest, owner)| ![guest, owner].contains(&&context));
        self.contexts.remove(&context);
        self.devices[index].context = None;
        self.devices[index].used = 0;
        Ok(())
    }

    /// The objects of a context, by kinds.
    fn alive(&self, context: Handle) -> Vec<String> {
        let of = |contexts: Vec<Handle>| contexts.iter().filter(|c| **c == context).count();
        let kinds = [
            (
                "streams",
                of(self.streams.values().map(|s| s.context).collect()),
            ),
            (
                "events",
                of(self.events.values().map(|e| e.context).collect()),
            ),
            (
                "modules",
                of(self.modules.values().map(|m| m.context).collect()),
            ),
            (
                "handles of cuBLAS",
                of(self.blas.values().map(|b| b.context).collect()),
            ),
            (
                "blocks of memory",
                of(self.blocks.values().map(|b| b.context).collect()),
            ),
            (
                "pinned blocks",
                of(self.pinned.values().map(|b| b.context).collect()),
            ),
        ];
        let some = kinds.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(kind, count)| format!("{count} {kind}"))
            .collect()
    }

    /// The contexts that are there, in words.
    pub(crate) fn left(&self) -> Vec<String> {
        let context = |context: &Handle| format!("a context with {:?}", self.alive(*context));
        self.contexts.keys().map(context).collect()
    }

    pub(crate) fn current(&mut self) -> Option<Handle> {
        self.caller().current
    }

    pub(crate) fn set_current(&mut self, context: Option<Handle>) -> Answer<()> {
        if let Some(context) = context {
            live!(self, contexts, "context", context)?;
        }
        self.caller().current = context;
        Ok(())
    }

    /// The current context, which must not be lost.
    fn bound(&mut self) -> Answer<Handle> {
        let Some(current) = self.current() else {
            return mistake("no context is current on this thread");
        };
        match live!(self, contexts, "context", current)?.lost {
            Some(code) => Err(Refusal::Code(code)),
            None => Ok(current),
        }
    }

    /// As [`Self::bound`], which must be the context of an object.
    fn bound_to(&mut self, context: Handle, kind: &str) -> Answer<Handle> {
        let current = self.bound()?;
        if current != context {
            return mistake(format!(
                "a {kind} of another context than the current one is used"
            ));
        }
        Ok(current)
    }

    fn on(&mut self, stream: Handle) -> Answer<&mut Stream> {
        let context = live!(self, streams, "stream", stream)?.context;
        self.bound_to(context, "stream")?;
        live!(self, streams, "stream", stream)
    }
}

/// Whether an address is in one of these blocks.
fn is_in(blocks: &BTreeMap<u64, MemoryBlock>, address: u64) -> bool {
    let before = blocks.range(..=address).next_back();
    before.is_some_and(|(_, block)| block.range().contains(&address))
}
