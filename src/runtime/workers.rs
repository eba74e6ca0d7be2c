//! One thread with a runtime of its own for each core.
//!
//! A connection, the one it is paired with and all their relays live on one worker, so none of their wake-ups crosses
//! threads: about twice the request streams a second of a work-stealing runtime. The price is that nothing on a worker
//! may block.

use std::{io, thread::JoinHandle};

use tokio::{runtime::Handle, sync::oneshot};

use super::Tasks;

/// One worker.
#[derive(Debug)]
pub struct Worker {
    handle: Handle,
    tasks: Tasks,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// All workers. Dropping it stops them and waits until their threads are gone.
#[derive(Debug)]
pub struct Workers(Vec<Worker>);

impl Workers {
    /// Starts `count` workers, at least one.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread or an event queue.
    pub fn start(count: usize) -> io::Result<Self> {
        (0..count.max(1)).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// All of them, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Worker> + Clone {
        self.0.iter()
    }

    /// Completes when no worker has a task left.
    pub async fn idle(&self) {
        for worker in &self.0 {
            worker.tasks.idle().await;
        }
    }
}

impl Worker {
    fn start(index: usize) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(format!("iris-worker-{index}")).spawn(move || {
            // The sender's drop is the signal.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { tasks: Tasks::new(handle.clone()), handle, stop: Some(stop), thread: Some(thread) })
    }

    /// The tasks of this worker.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Runs `build` so that sockets, timers and drivers that it makes belong to this worker.
    pub fn enter<T>(&self, build: impl FnOnce() -> T) -> T {
        let _context = self.handle.enter();
        build()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            worker.stop.take();
        }
        for worker in &mut self.0 {
            if let Some(thread) = worker.thread.take() {
                // A worker's own panic was reported when it happened.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_worker_runs_its_tasks_on_its_own_thread() {
        let workers = Workers::start(2).unwrap();
        let (sender, names) = mpsc::channel();
        for worker in workers.iter() {
            let sender = sender.clone();
            worker.tasks().spawn(async move {
                sender.send(std::thread::current().name().map(str::to_owned)).unwrap();
            });
        }
        let mut seen: Vec<_> = names.iter().take(2).flatten().collect();
        seen.sort();
        assert_eq!(seen, ["iris-worker-0", "iris-worker-1"]);
    }

    #[test]
    fn a_panic_ends_its_task_and_nothing_else() {
        let workers = Workers::start(1).unwrap();
        let worker = workers.iter().next().unwrap();
        let (sender, done) = mpsc::channel();
        worker.tasks().spawn(async { panic!("expected by the test") });
        worker.tasks().spawn(async move { sender.send(()).unwrap() });
        done.recv().unwrap();
    }
}
