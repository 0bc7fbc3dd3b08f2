//! `taskloop`: a loop whose parts are tasks.

use super::spawn::{self, TaskRequest, flag};
use super::{reduction, taskgroup};
use crate::loops::plan::Range;
use crate::team::tasks::is_cancelled;
use crate::team::thread::Thread;

/// How many tasks a loop of `count` iterations becomes, and how many iterations each has: the first
/// some one more than the others. With a strict grain size the last has what is left.
fn parts(count: u64, tasks: u64, flags: u32, threads: u32) -> (u64, u64, u64) {
    let grain = flags & flag::GRAINSIZE != 0;
    let tasks = match (tasks, grain) {
        (0, _) => threads.into(),
        (grain, true) if flags & flag::STRICT != 0 => {
            return (count.div_ceil(grain), grain, 0);
        }
        (grain, true) => count / grain,
        (tasks, false) => tasks,
    };
    let tasks = tasks.clamp(1, count.max(1));
    (tasks, count / tasks, count % tasks)
}

/// Makes the tasks, each of which gets its bounds in the first two words of its data; and waits for
/// them unless there is no group.
pub(crate) fn run(asked: &TaskRequest, tasks: u64, range: Range) {
    let thread = Thread::current();
    let grouped = asked.flags & flag::NOGROUP == 0;
    let reduces = grouped && asked.flags & flag::REDUCTION != 0;
    // SAFETY: the description stands in the data, behind the bounds.
    let reduced = reduces.then(|| unsafe { *asked.data.cast::<*mut usize>().add(2) });
    if range.count == 0 {
        if let Some(description) = reduced {
            // SAFETY: the description is a compiler's.
            unsafe { reduction::leave_out(description) };
        }
        return;
    }
    if grouped {
        taskgroup::start(thread);
        if let Some(description) = reduced {
            // SAFETY: the description is a compiler's.
            unsafe { reduction::register(description) };
        }
    }
    let (count, least, more) = parts(range.count, tasks, asked.flags, thread.team().threads());
    let mut from = 0;
    for index in 0..count {
        let to = (from + least + u64::from(index < more)).min(range.count);
        let (start, end) = range.bounds((from, to));
        from = to;
        if is_cancelled(thread, thread.task().heritage()) {
            break;
        }
        let block = asked.copied();
        // SAFETY: the data begins with two words for the bounds.
        unsafe {
            let words = block.at().cast::<u64>();
            *words = start;
            *words.add(1) = end;
        }
        let part = TaskRequest {
            data: block.at(),
            copy: None,
            may_wait: asked.flags & flag::IF != 0,
            flags: asked.flags & flag::FINAL,
            ..*asked
        };
        match asked.copy {
            Some(_) => spawn::task_with(&part, block),
            None => spawn::task(&part),
        }
    }
    if grouped {
        taskgroup::end(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_parted_as_asked() {
        assert_eq!(parts(10, 0, 0, 4), (4, 2, 2));
        assert_eq!(parts(10, 3, 0, 4), (3, 3, 1));
        assert_eq!(parts(10, 20, 0, 4), (10, 1, 0));
        assert_eq!(parts(10, 4, flag::GRAINSIZE, 4), (2, 5, 0));
        let strict = flag::GRAINSIZE | flag::STRICT;
        assert_eq!(parts(10, 4, strict, 4), (3, 4, 0));
        assert_eq!(parts(2, 4, flag::GRAINSIZE, 4), (1, 2, 0));
    }
}
