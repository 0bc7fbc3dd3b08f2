//! Batches: many small messages in one packet. A record is a tag, a length, and so many bytes.

/// A batch is sent when it has come to so many bytes: what MPI libraries send at once, without
/// asking the receiver whether it has room.
pub(crate) const BATCH_BYTES: usize = 4000;
/// Messages of more bytes than these travel alone.
pub(crate) const RECORD_BYTES_MAX: usize = 2000;

const HEADER_BYTES: usize = 6;

/// Whether a record of so many bytes still fits.
pub(crate) fn has_room(batch: &[u8], bytes: usize) -> bool {
    batch.len() + HEADER_BYTES + bytes <= BATCH_BYTES
}

/// Appends a record.
pub(crate) fn append(batch: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    debug_assert!(bytes.len() <= RECORD_BYTES_MAX);
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&tag.to_le_bytes());
    header[4..].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
    batch.reserve(HEADER_BYTES + bytes.len());
    batch.extend_from_slice(&header);
    batch.extend_from_slice(bytes);
}

/// Takes the first record off a batch: tag and bytes. None from a batch that is empty or torn.
pub(crate) fn split<'b>(batch: &mut &'b [u8]) -> Option<(u32, &'b [u8])> {
    let (header, rest) = batch.split_first_chunk::<HEADER_BYTES>()?;
    let tag = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
    let (bytes, rest) = rest.split_at_checked(length)?;
    *batch = rest;
    Some((tag, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(records: Vec<(u32, Vec<u8>)>) {
            let mut batch = Vec::new();
            for (tag, bytes) in &records {
                append(&mut batch, *tag, bytes);
            }
            let mut rest = &batch[..];
            for (tag, bytes) in &records {
                prop_assert_eq!(split(&mut rest), Some((*tag, &bytes[..])));
            }
            prop_assert_eq!(split(&mut rest), None);
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_torn_batch_is_no_record() {
        let mut batch = Vec::new();
        append(&mut batch, 7, b"seven");
        for length in 0..batch.len() {
            assert_eq!(split(&mut &batch[..length]), None);
        }
    }

    #[test]
    fn the_largest_record_fits_an_empty_batch() {
        assert!(has_room(&[], RECORD_BYTES_MAX));
        assert!(RECORD_BYTES_MAX <= usize::from(u16::MAX));
    }
}
