//! The code of a task, and memory for what it gets.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr;

/// The code of a region, a task or the like, and what it gets.
pub(crate) type Code = unsafe extern "C" fn(*mut ());

/// Copies what a task gets, where that is more than to copy its bytes.
pub(crate) type Copy = unsafe extern "C" fn(*mut (), *mut ());

/// Memory for what a task gets.
pub(crate) struct Block {
    at: *mut (),
    layout: Layout,
}

// SAFETY: what it holds is for the one task, wherever that runs.
unsafe impl Send for Block {}

impl Block {
    /// A copy of data with this size and alignment.
    pub(crate) fn copied(
        data: *mut (),
        (size, align): (usize, usize),
        copy: Option<Copy>,
    ) -> Block {
        let layout = Layout::from_size_align(size.max(1), align.max(1));
        let layout = layout.expect("the size and alignment of a type");
        // SAFETY: the size is not 0.
        let at = unsafe { alloc(layout) };
        if at.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: both are of that size, and apart.
        unsafe {
            match copy {
                Some(copy) => copy(at.cast(), data),
                None => ptr::copy_nonoverlapping(data.cast::<u8>(), at, size),
            }
        }
        Block {
            at: at.cast(),
            layout,
        }
    }

    pub(crate) fn at(&self) -> *mut () {
        self.at
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated so.
        unsafe { dealloc(self.at.cast(), self.layout) };
    }
}

/// The code that a node runs, and its data.
pub(crate) struct TaskBody {
    pub(crate) code: Code,
    pub(crate) data: Block,
}
