//! The threads that answer `roving top`, from the first pool that lives to the end of the process,
//! or until the library is about to be unloaded.

#[cfg(unix)]
pub(super) use unix::{serve, stop};

/// Elsewhere nobody can ask.
#[cfg(not(unix))]
pub(super) fn serve(path: &std::path::Path) {
    super::live::refuse(path, "this system has no Unix sockets");
}

#[cfg(not(unix))]
pub(super) fn stop() {}

#[cfg(unix)]
mod unix {
    use crate::machine::prim::thread::{self, JoinHandle};
    use std::fs;
    use std::io::{self, Read as _, Write as _};
    use std::mem;
    use std::net::Shutdown;
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    use crate::machine::faults::{self, Point};
    use crate::machine::per_process::{PerProcess, PerProcessGuard};
    use crate::machine::prim::{AtomicBool, Mutex, MutexGuard, Ordering, process_wide};
    use crate::machine::service;
    use crate::observe::diagnostics::live::{end, refuse, snapshot};

    struct Server {
        path: PathBuf,
        /// The socket's own, which another one at that path does not have.
        identity: Option<(u64, u64)>,
        thread: JoinHandle<()>,
        shared: Arc<Shared>,
    }

    /// Whether somebody answers for this process.
    #[derive(Default)]
    enum Serving {
        #[default]
        Nobody,
        /// A thread of this process, to which the rest is left.
        Begins,
        Here(Server),
        /// A thread of this process ends what was here.
        Ends,
        /// The parent has the socket.
        InParent,
    }

    /// How long the thread that listens rests when the system gives it nobody.
    const REFUSED_PAUSE: Duration = Duration::from_millis(10);

    #[derive(Default)]
    struct Shared {
        ends: AtomicBool,
        clients: Mutex<Vec<Client>>,
    }

    /// Who has asked, and the thread that answers.
    struct Client {
        stream: UnixStream,
        thread: JoinHandle<()>,
    }

    process_wide! {
        static SERVING: PerProcess<Serving> = PerProcess::new();
    }

    fn serving() -> PerProcessGuard<'static, Serving> {
        SERVING.lock_inherited(|parents| match parents {
            Serving::Nobody => Serving::Nobody,
            _ => Serving::InParent,
        })
    }

    /// Starts to answer at `path`, unless somebody does already. Where that fails, a line on
    /// standard error says so: the program goes on without.
    pub(crate) fn serve(path: &Path) {
        {
            let mut serving = serving();
            if !matches!(*serving, Serving::Nobody) {
                return;
            }
            *serving = Serving::Begins;
        }
        // Without the lock: to ask whether somebody answers at that path may take long.
        let started = start(path);
        let refused = started.as_ref().err().map(io::Error::to_string);
        *serving() = started.map_or(Serving::Nobody, Serving::Here);
        if let Some(why) = refused {
            refuse(path, &why);
        }
    }

    fn start(path: &Path) -> io::Result<Server> {
        // What a process with this number has left behind; not a socket at which somebody answers.
        if UnixStream::connect(path).is_err() {
            end(path);
        }
        faults::ask(Point::Socket)?;
        let listener = UnixListener::bind(path)?;
        let shared = Arc::<Shared>::default();
        let here = Arc::clone(&shared);
        Ok(Server {
            path: path.to_owned(),
            identity: identity(path),
            thread: faults::start(builder(), move || here.listen(&listener))?,
            shared,
        })
    }

    /// The number of the file at that path, with the device that it is on.
    fn identity(path: &Path) -> Option<(u64, u64)> {
        let file = fs::symlink_metadata(path).ok()?;
        Some((file.dev(), file.ino()))
    }

    fn builder() -> thread::Builder {
        thread::Builder::new().name("roving-top".into())
    }

    impl Shared {
        fn clients(&self) -> MutexGuard<'_, Vec<Client>> {
            self.clients.lock()
        }

        fn listen(&self, listener: &UnixListener) {
            loop {
                let Ok((stream, _)) = listener.accept() else {
                    // Who asks is still there: more files may be open than this process may have.
                    thread::sleep(REFUSED_PAUSE);
                    continue;
                };
                // Ordering: Relaxed; who sets it connects afterwards, which the system orders.
                if self.ends.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(answered) = stream.try_clone() else {
                    continue;
                };
                // A client that is slow keeps nobody else waiting.
                if let Ok(thread) = faults::start(builder(), move || answer(&answered)) {
                    let mut clients = self.clients();
                    clients.retain(|client| !client.thread.is_finished());
                    clients.push(Client { stream, thread });
                }
            }
        }
    }

    /// A line for each line, until the client goes away.
    fn answer(mut stream: &UnixStream) {
        let mut asked = [0; 64];
        loop {
            let read = match stream.read(&mut asked) {
                Ok(0) => return,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            for byte in &asked[..read] {
                if *byte == b'\n' && stream.write_all(snapshot().as_bytes()).is_err() {
                    return;
                }
            }
        }
    }

    fn take() -> Option<Server> {
        let mut serving = serving();
        match mem::replace(&mut *serving, Serving::Ends) {
            Serving::Here(server) => Some(server),
            other => {
                *serving = other;
                None
            }
        }
    }

    /// Ends all of these threads, and removes the socket. The next pool that is built brings them
    /// back; not one that is built meanwhile.
    pub(crate) fn stop() {
        if let Some(server) = take() {
            end_all(server);
            *serving() = Serving::Nobody;
        }
    }

    fn end_all(server: Server) {
        // Ordering: Relaxed, as in `listen`.
        server.shared.ends.store(true, Ordering::Relaxed);
        let is_there = server.identity.is_some() && identity(&server.path) == server.identity;
        // Wakes the thread that listens. If somebody has removed the socket, or has put another one
        // in its place, it cannot be woken.
        if is_there && UnixStream::connect(server.path.as_path()).is_ok() {
            service::join(server.thread);
        }
        for client in mem::take(&mut *server.shared.clients()) {
            let _ = client.stream.shutdown(Shutdown::Both);
            service::join(client.thread);
        }
        if is_there {
            end(&server.path);
        }
    }
}
