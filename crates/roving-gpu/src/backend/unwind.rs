//! Panics of the program's code on threads that have to go on, as those of back-ends have.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// Calls it. A panic in there ends here, and so does one in the drop of that one's payload, which
/// is a value of the program's; the panic hook has told of both. Gives the text of the first, if it
/// has one.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Option<String>> {
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = text_of(&*payload);
        // The payload of a panic in the drop is forgotten: its own drop may panic as well.
        mem::forget(panic::catch_unwind(AssertUnwindSafe(|| drop(payload))));
        text
    })
}

fn text_of(payload: &(dyn Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref().map(|text: &&str| (*text).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::contain;

    /// Its drop panics with another one of its kind, as often as the number says.
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Bomb(self.0 - 1));
            }
        }
    }

    #[test]
    fn neither_a_panic_nor_the_drop_of_its_payload_gets_out() {
        assert_eq!(contain(|| 7), Ok(7));
        assert_eq!(
            contain(|| panic!("a text")),
            Err::<(), _>(Some("a text".into()))
        );
        assert_eq!(
            contain(|| panic!("a {}", 2)),
            Err::<(), _>(Some("a 2".into()))
        );
        for depth in 0..3 {
            assert_eq!(
                contain(|| std::panic::panic_any(Bomb(depth))),
                Err::<(), _>(None)
            );
        }
    }
}
