//! Contract 7 for async tasks: programs that must not compile, each with the reason and with a
//! twin that differs in that one point and does. See `crate::compile_fail`.

/// A forked task moves between workers, so what it holds must be `Send`.
///
/// ```compile_fail
/// use roving::task::{block_on, fork};
///
/// let one = std::rc::Rc::new(1);
/// block_on(async { fork(async move { *one }).await.await });
/// ```
///
/// ```
/// use roving::task::{block_on, fork};
///
/// let one = std::sync::Arc::new(1);
/// block_on(async { fork(async move { *one }).await.await });
/// ```
struct ForkOfAnRc;

/// So must what its parent holds at an `.await`: the continuation moves, too.
///
/// ```compile_fail
/// use roving::task::{block_on, fork};
///
/// block_on(async {
///     let one = std::rc::Rc::new(1);
///     fork(async {}).await;
///     assert_eq!(*one, 1);
/// });
/// ```
///
/// ```
/// use roving::task::{block_on, fork};
///
/// block_on(async {
///     {
///         let one = std::rc::Rc::new(1);
///         assert_eq!(*one, 1);
///     }
///     fork(async {}).await;
/// });
/// ```
struct RcAcrossAnAwait;

/// A lock is to be unlocked by the thread that locked it.
///
/// ```compile_fail
/// use roving::task::{block_on, call};
///
/// let lock = std::sync::Mutex::new(1);
/// let lock = &lock;
/// block_on(async move {
///     let guard = lock.lock().unwrap();
///     call(async {}).await;
///     drop(guard);
/// });
/// ```
///
/// ```
/// use roving::task::{block_on, call};
///
/// let lock = std::sync::Mutex::new(1);
/// let lock = &lock;
/// block_on(async move {
///     let guard = lock.lock().unwrap();
///     drop(guard);
///     call(async {}).await;
/// });
/// ```
struct GuardAcrossAnAwait;

/// A child's result reaches its parent on another worker.
///
/// ```compile_fail,E0277
/// use roving::task::{block_on, spawn};
///
/// block_on(async { drop(spawn(async { std::rc::Rc::new(1) })) });
/// ```
///
/// ```
/// use roving::task::{block_on, spawn};
///
/// block_on(async { drop(spawn(async { std::sync::Arc::new(1) })) });
/// ```
struct ResultIsAnRc;

/// A child may outlive its parent's frame, whose handle may be forgotten: it borrows nothing that
/// the parent owns.
///
/// ```compile_fail,E0597
/// use roving::task::scope;
///
/// scope(|s| async move {
///     let inside = 1;
///     let borrowed = &inside;
///     std::mem::forget(s.fork(async move { assert_eq!(*borrowed, 1) }).await);
/// });
/// ```
///
/// ```
/// use roving::task::scope;
///
/// let outside = 1;
/// let borrowed = &outside;
/// scope(|s| async move {
///     std::mem::forget(s.fork(async move { assert_eq!(*borrowed, 1) }).await);
/// });
/// ```
struct ChildBorrowsFromItsParent;

/// A called future cannot borrow from its caller, which could be dropped halfway.
///
/// ```compile_fail,E0597
/// use roving::task::scope;
///
/// scope(|s| async move {
///     let inside = 1;
///     let borrowed = &inside;
///     s.call(async move { assert_eq!(*borrowed, 1) }).await;
/// });
/// ```
///
/// ```
/// use roving::task::scope;
///
/// scope(|s| async move {
///     let inside = 1;
///     s.call(async move { assert_eq!(inside, 1) }).await;
/// });
/// ```
struct CalleeBorrowsFromItsCaller;

/// Without a token, a child borrows nothing at all.
///
/// ```compile_fail,E0597
/// use roving::task::{block_on, fork};
///
/// let outside = 1;
/// let borrowed = &outside;
/// block_on(async move { fork(async move { *borrowed }).await.await });
/// ```
///
/// ```
/// use roving::task::scope;
///
/// let outside = 1;
/// let borrowed = &outside;
/// scope(|s| async move { s.fork(async move { *borrowed }).await.await });
/// ```
struct BorrowWithoutAToken;

/// A token cannot be made to stand for a shorter time than its root: a task could borrow what ends
/// before the root.
///
/// ```compile_fail
/// use roving::task::Scope;
///
/// fn shorter<'short, 'long: 'short>(s: Scope<'long>) -> Scope<'short> {
///     s
/// }
/// ```
///
/// ```
/// use roving::task::Scope;
///
/// fn same<'scope>(s: Scope<'scope>) -> Scope<'scope> {
///     s
/// }
/// ```
struct TokenOfAShorterTime;

/// A variable that the root borrows mutably can be used again after the root, not meanwhile.
///
/// ```compile_fail,E0502
/// use roving::task::{Scope, scope};
///
/// let mut numbers = vec![1];
/// scope(|s| {
///     let first = &mut numbers[0];
///     numbers.len();
///     async move { drop(s.spawn(async move { *first = 2 })) }
/// });
/// ```
///
/// ```
/// use roving::task::{Scope, scope};
///
/// let mut numbers = vec![1];
/// scope(|s| {
///     let first = &mut numbers[0];
///     async move { drop(s.spawn(async move { *first = 2 })) }
/// });
/// assert_eq!(numbers.len() as u32 + numbers[0], 3);
/// ```
struct BorrowedTwice;

/// A handle whose result borrows goes no further than what it borrows from.
///
/// ```compile_fail,E0597
/// use roving::task::scope;
///
/// let handle = {
///     let text = String::from("text");
///     let text = &text;
///     scope(|s| async move { s.fork(async move { text.as_str() }).await })
/// };
/// drop(handle);
/// ```
///
/// ```
/// use roving::task::scope;
///
/// let text = String::from("text");
/// let handle = {
///     let text = &text;
///     scope(|s| async move { s.fork(async move { text.as_str() }).await })
/// };
/// drop(handle);
/// ```
struct HandleOutlivesWhatItsResultBorrows;

/// A child that was never started is dropped with what it borrows still there.
///
/// ```compile_fail,E0597
/// use roving::task::scope;
///
/// let child;
/// {
///     let text = String::from("text");
///     let text = &text;
///     child = scope(|s| async move { s.fork(async move { drop(text) }) });
/// }
/// ```
///
/// ```
/// use roving::task::scope;
///
/// let text = String::from("text");
/// let child;
/// {
///     let text = &text;
///     child = scope(|s| async move { s.fork(async move { drop(text) }) });
/// }
/// ```
struct UnstartedChildOutlivesWhatItBorrows;

/// An `async fn` cannot fork itself: whether it is `Send` would depend on whether it is `Send`.
///
/// ```compile_fail,E0283
/// use roving::task::fork;
///
/// async fn countdown(n: u32) {
///     if n > 0 {
///         fork(countdown(n - 1)).await.await;
///     }
/// }
/// ```
///
/// ```
/// use roving::task::{Task, fork};
///
/// fn countdown(n: u32) -> impl Task<()> {
///     async move {
///         if n > 0 {
///             fork(countdown(n - 1)).await.await;
///         }
///     }
/// }
/// roving::task::block_on(countdown(3));
/// ```
struct RecursiveAsyncFn;
