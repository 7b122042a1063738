//! A relay between a remote volume and its target that cuts connections the worst way: the volume's end is gone at once,
//! while what it had sent is still on its way and reaches the target later.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// More than any login, less than a large write.
const CUT_AT_BYTES: usize = 100_000;

pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    to: SocketAddr,
    /// Ends of the volume's side, and whether each was cut.
    near: Mutex<Vec<(TcpStream, Arc<AtomicBool>)>>,
    /// How late arrives what was sent before the cut.
    late: Duration,
    connections: AtomicUsize,
    /// So many connections are cut when they have passed on [`CUT_AT_BYTES`].
    cuts_left: AtomicUsize,
    /// Nothing goes on to the target.
    held: AtomicBool,
    /// Nobody new.
    stopped: AtomicBool,
}

impl Proxy {
    pub fn start(to: SocketAddr, late: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            to,
            near: Mutex::default(),
            late,
            connections: AtomicUsize::new(0),
            cuts_left: AtomicUsize::new(0),
            held: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.stopped.load(Ordering::SeqCst) {
                    break;
                }
                accepting.relay(stream.unwrap());
            }
        });
        Self { port, shared }
    }

    /// Cuts what is connected.
    pub fn cut(&self) {
        for (stream, cut) in self.shared.near.lock().unwrap().drain(..) {
            cut.store(true, Ordering::SeqCst);
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Holds back what is sent to the target, or lets it go.
    pub fn hold(&self, held: bool) {
        self.shared.held.store(held, Ordering::SeqCst);
    }

    /// Cuts the next so many connections in the middle of the first large write that each carries.
    pub fn cut_next(&self, count: usize) {
        self.shared.cuts_left.store(count, Ordering::SeqCst);
    }

    /// Takes no further connection.
    pub fn close(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.hold(false);
        self.close();
    }
}

impl Shared {
    fn relay(self: &Arc<Self>, near: TcpStream) {
        let Ok(far) = TcpStream::connect(self.to) else { return };
        self.connections.fetch_add(1, Ordering::SeqCst);
        let cut = Arc::new(AtomicBool::new(false));
        self.near.lock().unwrap().push((near.try_clone().unwrap(), Arc::clone(&cut)));
        for stream in [&near, &far] {
            stream.set_nodelay(true).unwrap();
        }
        let (mut from_far, mut to_near) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from_far, &mut to_near);
            let _ = to_near.shutdown(Shutdown::Both);
        });
        let shared = Arc::clone(self);
        std::thread::spawn(move || shared.forward(near, far, &cut));
    }

    fn forward(&self, mut near: TcpStream, mut far: TcpStream, cut: &AtomicBool) {
        let mut buffer = vec![0; 64 << 10];
        let mut passed = 0;
        loop {
            let count = near.read(&mut buffer).unwrap_or(0);
            if count == 0 {
                break;
            }
            // Bytes are held back a little, so that a cut finds some under way.
            if self.late > Duration::ZERO {
                std::thread::sleep(Duration::from_micros(200));
            }
            while self.held.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            if cut.load(Ordering::SeqCst) {
                std::thread::sleep(self.late);
            }
            if far.write_all(&buffer[..count]).is_err() {
                break;
            }
            passed += count;
            if passed >= CUT_AT_BYTES && !cut.load(Ordering::SeqCst) && self.takes_cut() {
                cut.store(true, Ordering::SeqCst);
                let _ = near.shutdown(Shutdown::Both);
            }
        }
        if cut.load(Ordering::SeqCst) {
            // The target does not hear of the cut before long.
            std::thread::sleep(self.late * 2);
        }
        let _ = far.shutdown(Shutdown::Both);
    }

    fn takes_cut(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.cuts_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }
}
