//! Messages that are too large for a batch: how one is announced, and how its parts come.

use std::collections::VecDeque;

/// The most bytes of one part, as MPI's lengths are 32-bit.
pub(super) const BULK_BYTES_MAX: usize = 1 << 30;

/// Drops the requests of parts at the front that are done. Returns the code of the first that has
/// failed, after which none is looked at: what that was to bring is not there.
pub(super) fn drop_done<R, C: PartialEq>(
    requests: &mut VecDeque<R>,
    success: C,
    test: impl Fn(&mut R) -> (C, bool),
) -> C {
    while let Some(request) = requests.front_mut() {
        let (code, is_done) = test(request);
        if is_done {
            requests.pop_front();
        }
        if code != success || !is_done {
            return code;
        }
    }
    success
}

/// The tag and the length that an announcement says.
pub(super) fn announced(what: &[u8]) -> Option<(u32, u64)> {
    let what: &[u8; 12] = what.try_into().ok()?;
    let (tag, length) = what.split_first_chunk::<4>()?;
    let length = length.first_chunk::<8>()?;
    Some((u32::from_le_bytes(*tag), u64::from_le_bytes(*length)))
}

/// So many bytes, if there is room.
pub(super) fn zeroed(length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok()?;
    // A vector that is made of zeros comes from the system as such, and is not written to; but it
    // ends the process where there is no room. So what is large is tried before.
    if length > BULK_BYTES_MAX {
        Vec::<u8>::new().try_reserve_exact(length).ok()?;
    }
    Some(vec![0; length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_has_failed_is_told_though_the_next_has_come() {
        let mut parts: VecDeque<_> = [(0, true), (13, true), (0, true)].into();
        assert_eq!(drop_done(&mut parts, 0, |part| *part), 13);
        assert_eq!(parts.len(), 1);
        assert_eq!(drop_done(&mut parts, 0, |part| *part), 0);
        assert!(parts.is_empty());
        let mut parts: VecDeque<_> = [(0, true), (0, false), (13, true)].into();
        assert_eq!(drop_done(&mut parts, 0, |part| *part), 0);
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn announcements_that_make_no_sense_are_refused() {
        let whole = [7, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0];
        for length in 0..=whole.len() {
            let found = announced(&whole[..length]);
            assert_eq!(found, (length == 12).then_some((7, 513)), "{length}");
        }
        assert_eq!(zeroed(3), Some(vec![0; 3]));
        assert_eq!(zeroed(u64::MAX), None);
        assert_eq!(zeroed(1 << 62), None);
    }
}
