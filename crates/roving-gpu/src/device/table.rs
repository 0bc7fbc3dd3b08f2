//! The table of a device's memory, for tasks of whatever type.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use roving::raw::panics::drop_quietly;

use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Memory};
use crate::buffer::content::Content;

/// Things that a device lets go of while it is locked, to be dropped when it is open again: these
/// may be the last references, and the drop of a back-end's own memory, or of what a buffer keeps,
/// is code of others.
#[derive(Default)]
pub(crate) struct LetGo {
    /// Those of copies that were in the table, which is told when they are dropped.
    pub(crate) memories: Vec<Memory>,
    /// Those that tasks had of them, where the table has none any more.
    pub(crate) clones: Vec<Memory>,
    pub(crate) contents: Vec<Arc<dyn Content>>,
}

impl LetGo {
    /// Drops all of it, and returns how many memories of the table those were. A panic in one of
    /// them keeps nothing else from being done.
    pub(crate) fn drop_all(self) -> usize {
        let dropped = self.memories.len();
        self.clones.into_iter().for_each(drop_quietly);
        self.memories.into_iter().for_each(drop_quietly);
        self.contents.into_iter().for_each(drop_quietly);
        dropped
    }
}

/// A buffer's copy on the device.
pub(crate) struct Resident<T> {
    pub(crate) memory: Memory,
    pub(crate) bytes: usize,
    content: Weak<dyn Content>,
    /// The version that it is a copy of; `None` while it is of none.
    pub(crate) version: Option<u64>,
    /// An upload is under way.
    pub(crate) arriving: Option<Arriving<T>>,
    /// It is being copied to the host without a task.
    pub(crate) is_spilling: bool,
    /// This version of it could not be copied to the host: it is not tried again.
    pub(crate) stays: Option<u64>,
    /// Tasks that have landed ahead and whose operations on it have not ended, with whether they
    /// write it; the oldest first. Each of them has it pinned.
    pub(crate) ahead: Vec<(Arc<T>, bool)>,
    /// So many tasks on the device use it.
    pins: usize,
    used: u64,
}

/// A version on its way to the device.
pub(crate) struct Arriving<T> {
    pub(crate) version: u64,
    /// Tasks that wait for it, beside the one that brings it.
    pub(crate) waiting: Vec<Arc<T>>,
}

impl<T> Resident<T> {
    /// It holds that version, or will when an upload has ended.
    fn has(&self, version: u64) -> bool {
        let arrives = self.arriving.as_ref();
        self.version == Some(version) || arrives.is_some_and(|one| one.version == version)
    }

    /// The task that has landed ahead and has written it last.
    pub(crate) fn writer(&self) -> Option<&Arc<T>> {
        let last = self.ahead.iter().rev().find(|(_, writes)| *writes);
        last.map(|(entry, _)| entry)
    }

    /// It is valid, and the host's is not. The buffer may go meanwhile: the last handle of it is
    /// not dropped here.
    fn is_only(&self, let_go: &mut LetGo) -> Option<Arc<dyn Content>> {
        let content = self.content.upgrade()?;
        let (version, host) = content.versions();
        let is_only = self.version == Some(version) && host != version;
        let_go.contents.push(Arc::clone(&content));
        is_only.then_some(content)
    }
}

/// Why a task does not get its memory.
pub(crate) enum Short {
    /// Others use it, or what was let go of is not dropped yet, or this one has to be copied to the
    /// host first.
    ForNow(Option<Arc<dyn Content>>),
    /// There is not enough.
    Ever(DeviceError),
}

/// The copies on a device, by the ids of their buffers.
pub(crate) struct MemoryTable<T> {
    copies: HashMap<u64, Resident<T>>,
    bytes: u64,
    bytes_max: u64,
    clock: u64,
    /// So many memories are not in the table any more, and not dropped yet.
    letting_go: usize,
}

impl<T> MemoryTable<T> {
    pub(crate) fn new(bytes_max: u64) -> Self {
        MemoryTable {
            copies: HashMap::new(),
            bytes: 0,
            bytes_max,
            clock: 0,
            letting_go: 0,
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Resident<T>> {
        self.copies.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Resident<T>> {
        self.copies.get_mut(&id)
    }

    /// The copy is valid, or soon will be.
    pub(crate) fn has(&self, id: u64, version: u64) -> bool {
        self.copies.get(&id).is_some_and(|copy| copy.has(version))
    }

    /// The copy, if it is valid.
    pub(crate) fn valid(&self, id: u64, version: u64) -> Option<&Resident<T>> {
        let copy = self.copies.get(&id);
        copy.filter(|copy| copy.version == Some(version))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes room for a copy, and keeps it there until `unpin`. Evicts what was not used for
    /// longest and can be had again from the host.
    pub(crate) fn pin(
        &mut self,
        backend: &dyn Backend,
        content: &Arc<dyn Content>,
        is_alone: bool,
        let_go: &mut LetGo,
    ) -> Result<Memory, Short> {
        self.clock += 1;
        let clock = self.clock;
        if let Some(copy) = self.copies.get_mut(&content.id()) {
            copy.pins += 1;
            copy.used = clock;
            return Ok(copy.memory.clone());
        }
        let bytes = content.bytes();
        let memory = self.alloc(backend, bytes, is_alone, let_go)?;
        self.bytes += bytes as u64;
        self.copies.insert(
            content.id(),
            Resident {
                memory: memory.clone(),
                bytes,
                content: Arc::downgrade(content),
                version: None,
                arriving: None,
                is_spilling: false,
                stays: None,
                ahead: Vec::new(),
                pins: 1,
                used: clock,
            },
        );
        Ok(memory)
    }

    fn alloc(
        &mut self,
        backend: &dyn Backend,
        bytes: usize,
        is_alone: bool,
        let_go: &mut LetGo,
    ) -> Result<Memory, Short> {
        let before = self.letting_go;
        loop {
            let fits = self.bytes.saturating_add(bytes as u64) <= self.bytes_max;
            // The back-end has no room before that is dropped.
            if fits && self.letting_go > before {
                return Err(Short::ForNow(None));
            }
            let error = if fits {
                match backend.room_for(bytes) {
                    Ok(memory) => return Ok(memory),
                    Err(error) => error,
                }
            } else {
                let text = format!("{bytes} bytes more than the {} there are", self.bytes_max);
                DeviceError::new(Cause::OutOfMemory, text)
            };
            if error.cause() != Cause::OutOfMemory {
                return Err(Short::Ever(error));
            }
            if fits && self.letting_go > 0 {
                return Err(Short::ForNow(None));
            }
            if !self.evict_one(let_go) {
                let may_go =
                    |copy: &&Resident<T>| copy.stays.is_none() || copy.stays != copy.version;
                let oldest = self.unpinned().filter(may_go);
                let oldest = oldest.min_by_key(|copy| copy.used);
                return Err(match oldest.and_then(|copy| copy.is_only(let_go)) {
                    None if is_alone && self.letting_go == 0 => Short::Ever(error),
                    only => Short::ForNow(only),
                });
            }
        }
    }

    fn unpinned(&self) -> impl Iterator<Item = &Resident<T>> {
        self.copies.values().filter(|copy| copy.pins == 0)
    }

    /// False if there is nothing that may go.
    fn evict_one(&mut self, let_go: &mut LetGo) -> bool {
        let unpinned = self.copies.iter().filter(|(_, copy)| copy.pins == 0);
        let clean = unpinned.filter(|(_, copy)| copy.is_only(let_go).is_none());
        let oldest = clean.min_by_key(|(_, copy)| copy.used).map(|(id, _)| *id);
        oldest.is_some_and(|id| self.remove(id, let_go))
    }

    /// Keeps a copy that is there until `unpin`.
    pub(crate) fn hold_on(&mut self, id: u64) {
        if let Some(copy) = self.copies.get_mut(&id) {
            copy.pins += 1;
        }
    }

    pub(crate) fn unpin(&mut self, id: u64) {
        if let Some(copy) = self.copies.get_mut(&id) {
            copy.pins = copy.pins.saturating_sub(1);
        }
    }

    /// The copy is on its way to the host.
    pub(crate) fn is_spilling(&self, id: u64) -> bool {
        self.copies.get(&id).is_some_and(|copy| copy.is_spilling)
    }

    /// Marks the copy's content as invalid. Other tasks may still use its memory.
    pub(crate) fn spoil(&mut self, id: u64) {
        if let Some(copy) = self.copies.get_mut(&id) {
            copy.version = None;
        }
    }

    /// False if there is no such copy.
    pub(crate) fn remove(&mut self, id: u64, let_go: &mut LetGo) -> bool {
        let Some(copy) = self.copies.remove(&id) else {
            return false;
        };
        self.bytes -= copy.bytes as u64;
        self.letting_go += 1;
        let_go.memories.push(copy.memory);
        true
    }

    /// So many that were let go of have been dropped.
    pub(crate) fn dropped(&mut self, memories: usize) {
        self.letting_go -= memories;
    }

    /// The device is lost, with all copies. Those that are on their way stay in the table until
    /// that has failed, for the tasks that wait for it.
    pub(crate) fn clear(&mut self, let_go: &mut LetGo) {
        self.copies.retain(|_, copy| {
            copy.version = None;
            let stays = copy.arriving.is_some();
            if !stays {
                self.letting_go += 1;
                let_go.memories.push(copy.memory.clone());
            }
            stays
        });
        self.bytes = self.copies.values().map(|copy| copy.bytes as u64).sum();
    }
}
