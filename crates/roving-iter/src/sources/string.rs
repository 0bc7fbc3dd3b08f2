//! Texts: characters, bytes, lines and words.

use std::str;

use super::slice;
use crate::engine::{Companion, Consumer, IterPiece, drive};
use crate::iter::{Copied, IntoParallelRefIterator, ParallelIterator};

/// An iterator over the bytes of a text: [`par_bytes`](ParallelString::par_bytes).
///
/// ```
/// use roving_iter::str::Bytes;
/// use roving_iter::prelude::*;
///
/// let iter: Bytes<'_> = "ab".par_bytes();
/// assert_eq!(iter.collect::<Vec<_>>(), [b'a', b'b']);
/// ```
pub type Bytes<'t> = Copied<slice::Iter<'t, u8>>;

/// Iterators over parts of a text.
///
/// ```
/// use roving_iter::prelude::*;
///
/// let text = "to be\nor not\n";
/// assert_eq!(text.par_lines().map(str::len).max(), Some(6));
/// ```
pub trait ParallelString {
    /// Returns the text.
    #[doc(hidden)]
    fn as_parallel_string(&self) -> &str;

    /// Iterates over the characters.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("to be".par_chars().filter(|c| c.is_alphabetic()).count(), 4);
    /// ```
    fn par_chars(&self) -> Chars<'_> {
        Chars(TextPart::new(self.as_parallel_string()))
    }

    /// Iterates over the characters and where each begins.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("aäb".par_char_indices().find_any(|(_, c)| *c == 'b'), Some((3, 'b')));
    /// ```
    fn par_char_indices(&self) -> CharIndices<'_> {
        CharIndices {
            start: 0,
            text: self.as_parallel_string(),
        }
    }

    /// Iterates over the bytes.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("to be".par_bytes().max(), Some(b't'));
    /// ```
    fn par_bytes(&self) -> Bytes<'_> {
        self.as_parallel_string().as_bytes().par_iter().copied()
    }

    /// Iterates over the lines, without their ends.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("to\nbe".par_lines().collect::<Vec<_>>(), ["to", "be"]);
    /// ```
    fn par_lines(&self) -> Lines<'_> {
        Lines(TextPart::new(self.as_parallel_string()))
    }

    /// Iterates over what stands between white space.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!(" to  be ".par_split_whitespace().collect::<Vec<_>>(), ["to", "be"]);
    /// ```
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        SplitWhitespace(TextPart::new(self.as_parallel_string()))
    }

    /// Iterates over what stands between characters that match: a character, some of them, or a
    /// closure.
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("a,b;".par_split([',', ';']).collect::<Vec<_>>(), ["a", "b", ""]);
    /// ```
    fn par_split<P: TextPattern>(&self, separator: P) -> Split<'_, P> {
        Split {
            text: self.as_parallel_string(),
            separator,
        }
    }
}

impl ParallelString for str {
    fn as_parallel_string(&self) -> &str {
        self
    }
}

/// A part of a text.
#[derive(Clone, Copy, Debug)]
struct TextPart<'t> {
    text: &'t str,
    /// No cut can part it, as a cut has found, so that it counts as one unit.
    is_one: bool,
}

impl<'t> TextPart<'t> {
    fn new(text: &'t str) -> TextPart<'t> {
        TextPart {
            text,
            is_one: false,
        }
    }

    fn one(text: &'t str) -> TextPart<'t> {
        TextPart { text, is_one: true }
    }

    fn units(self) -> usize {
        match self.is_one {
            true => usize::from(!self.text.is_empty()),
            false => self.text.len(),
        }
    }

    /// Cuts before the first place that is `at` bytes behind the start or more and may be one, or
    /// else before the last one that is less.
    fn cut_where(self, at: usize, is_place: impl Fn(usize) -> bool) -> (Self, Self) {
        let text = self.text;
        if let Some(place) = (at..text.len()).find(|&place| is_place(place)) {
            let (lower, upper) = text.split_at(place);
            return (TextPart::new(lower), TextPart::new(upper));
        }
        match (1..at).rfind(|&place| is_place(place)) {
            Some(place) => {
                let (lower, upper) = text.split_at(place);
                (TextPart::new(lower), TextPart::one(upper))
            }
            None => (TextPart::one(text), TextPart::new("")),
        }
    }
}

/// An iterator over a text, and the piece that it is cut into.
macro_rules! text_iterator {
    (
        $(#[$doc:meta])*
        $name:ident => $item:ty, $seq:ty, $method:ident;
        |$text:ident, $place:ident| $is_place:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'t>(TextPart<'t>);

        impl<'t> ParallelIterator for $name<'t> {
            type Item = $item;

            fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
            where
                B: Companion,
                C: Consumer<$item, B>,
            {
                drive(self, beside, consumer, state)
            }
            fn span(&self) -> usize {
                self.0.units()
            }
        }

        impl<'t> IterPiece for $name<'t> {
            type Item = $item;
            type Seq = $seq;

            fn units(&self) -> usize {
                self.0.units()
            }
            fn cut(self, at: usize) -> (Self, Self) {
                let $text = self.0.text;
                let (lower, upper) = self.0.cut_where(at, |$place| $is_place);
                ($name(lower), $name(upper))
            }
            fn into_seq(self) -> $seq {
                self.0.text.$method()
            }
        }
    };
}

text_iterator! {
    /// An iterator over the characters of a text: [`par_chars`](ParallelString::par_chars).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("äb".par_chars().collect::<Vec<_>>(), ['ä', 'b']);
    /// ```
    Chars => char, str::Chars<'t>, chars;
    |text, place| text.is_char_boundary(place)
}

text_iterator! {
    /// An iterator over the lines of a text: [`par_lines`](ParallelString::par_lines).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("to\r\nbe\n".par_lines().collect::<Vec<_>>(), ["to", "be"]);
    /// ```
    Lines => &'t str, str::Lines<'t>, lines;
    |text, place| place > 0 && text.as_bytes()[place - 1] == b'\n'
}

text_iterator! {
    /// An iterator over the words of a text:
    /// [`par_split_whitespace`](ParallelString::par_split_whitespace).
    ///
    /// ```
    /// use roving_iter::prelude::*;
    ///
    /// assert_eq!("to\tbe".par_split_whitespace().collect::<Vec<_>>(), ["to", "be"]);
    /// ```
    SplitWhitespace => &'t str, str::SplitWhitespace<'t>, split_whitespace;
    |text, place| {
        let rest = text.get(place..);
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }
}

/// An iterator over the characters of a text and where each begins:
/// [`par_char_indices`](ParallelString::par_char_indices).
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!("äb".par_char_indices().collect::<Vec<_>>(), [(0, 'ä'), (2, 'b')]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CharIndices<'t> {
    start: usize,
    text: &'t str,
}

impl ParallelIterator for CharIndices<'_> {
    type Item = (usize, char);

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<(usize, char), B>,
    {
        drive(self, beside, consumer, state)
    }
    fn span(&self) -> usize {
        self.text.len()
    }
}

impl<'t> IterPiece for CharIndices<'t> {
    type Item = (usize, char);
    type Seq = CharIndicesSeq<'t>;

    fn units(&self) -> usize {
        self.text.len()
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let is_place = |place| self.text.is_char_boundary(place);
        let (lower, upper) = TextPart::new(self.text).cut_where(at, is_place);
        let rest = CharIndices {
            start: self.start + lower.text.len(),
            text: upper.text,
        };
        let text = lower.text;
        (CharIndices { text, ..self }, rest)
    }
    fn into_seq(self) -> CharIndicesSeq<'t> {
        CharIndicesSeq {
            start: self.start,
            chars: self.text.char_indices(),
        }
    }
}

/// The characters of a part of a text.
pub struct CharIndicesSeq<'t> {
    start: usize,
    chars: str::CharIndices<'t>,
}

impl Iterator for CharIndicesSeq<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        let (at, c) = self.chars.next()?;
        Some((self.start + at, c))
    }
}

/// The separators of [`par_split`](ParallelString::par_split): a character, some of them, or a
/// closure. Sealed: only these.
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!("a1b".par_split(|c: char| c.is_numeric()).count(), 2);
/// ```
pub trait TextPattern: sealed::TextPattern {}

impl<P: sealed::TextPattern> TextPattern for P {}

mod sealed {
    pub trait TextPattern: Send + Sync {
        fn is_match(&self, c: char) -> bool;
    }

    impl TextPattern for char {
        fn is_match(&self, c: char) -> bool {
            *self == c
        }
    }

    impl TextPattern for &[char] {
        fn is_match(&self, c: char) -> bool {
            self.contains(&c)
        }
    }

    impl<const N: usize> TextPattern for [char; N] {
        fn is_match(&self, c: char) -> bool {
            self.contains(&c)
        }
    }

    impl<const N: usize> TextPattern for &[char; N] {
        fn is_match(&self, c: char) -> bool {
            self.contains(&c)
        }
    }

    impl<F: Fn(char) -> bool + Send + Sync> TextPattern for F {
        fn is_match(&self, c: char) -> bool {
            self(c)
        }
    }
}

/// An iterator over what stands between separators: [`par_split`](ParallelString::par_split).
///
/// ```
/// use roving_iter::prelude::*;
///
/// assert_eq!("a,b".par_split(',').collect::<Vec<_>>(), ["a", "b"]);
/// ```
#[derive(Clone, Debug)]
pub struct Split<'t, P> {
    text: &'t str,
    separator: P,
}

impl<'t, P: TextPattern> ParallelIterator for Split<'t, P> {
    type Item = &'t str;

    fn drive<B, C>(self, beside: B, consumer: &C, state: C::State) -> C::State
    where
        B: Companion,
        C: Consumer<&'t str, B>,
    {
        let piece = SplitPiece {
            text: Some(self.text),
            is_one: false,
            separator: &self.separator,
        };
        drive(piece, beside, consumer, state)
    }
    fn span(&self) -> usize {
        self.text.len() + 1
    }
}

/// A part of a text between separators, or nothing behind the last of them.
pub(crate) struct SplitPiece<'t, 'p, P> {
    text: Option<&'t str>,
    /// There is no separator in it, as a cut has found, so that it counts as one unit.
    is_one: bool,
    separator: &'p P,
}

impl<'t, P: TextPattern> SplitPiece<'t, '_, P> {
    /// Cuts at the first separator from `start` on.
    fn cut_behind(&self, text: &'t str, start: usize) -> Option<(&'t str, &'t str)> {
        let (part, rest) = text[start..].split_once(|c| self.separator.is_match(c))?;
        Some((&text[..start + part.len()], rest))
    }

    /// Cuts at the last separator before `end`.
    fn cut_before(&self, text: &'t str, end: usize) -> Option<(&'t str, &'t str)> {
        let (lower, part) = text[..end].rsplit_once(|c| self.separator.is_match(c))?;
        Some((lower, &text[end - part.len()..]))
    }
}

impl<'t, 'p, P: TextPattern> IterPiece for SplitPiece<'t, 'p, P> {
    type Item = &'t str;
    type Seq = SplitPiece<'t, 'p, P>;

    fn units(&self) -> usize {
        match self.is_one {
            true => 1,
            false => self.text.map_or(0, |text| text.len() + 1),
        }
    }
    fn cut(self, at: usize) -> (Self, Self) {
        let part = |text, is_one| SplitPiece {
            text,
            is_one,
            separator: self.separator,
        };
        let Some(text) = self.text else {
            return (part(None, false), part(None, false));
        };
        let start = (at..text.len()).find(|&place| text.is_char_boundary(place));
        let start = start.unwrap_or(text.len());
        if let Some((lower, upper)) = self.cut_behind(text, start) {
            return (part(Some(lower), false), part(Some(upper), false));
        }
        match self.cut_before(text, start) {
            Some((lower, upper)) => (part(Some(lower), false), part(Some(upper), true)),
            None => (part(Some(text), true), part(None, false)),
        }
    }
    fn into_seq(self) -> Self {
        self
    }
}

impl<'t, P: TextPattern> Iterator for SplitPiece<'t, '_, P> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.text.take()?;
        match self.cut_behind(text, 0) {
            Some((part, rest)) => {
                self.text = Some(rest);
                Some(part)
            }
            None => Some(text),
        }
    }

    /// All of a block, by the loop of `std`.
    fn fold<T, F: FnMut(T, &'t str) -> T>(self, init: T, f: F) -> T {
        let parts = self.text.into_iter();
        let parts = parts.flat_map(|text| text.split(|c| self.separator.is_match(c)));
        parts.fold(init, f)
    }
}
