//! The HTTP service: JSON API under `/api/v1`, the start page, documentation, health, metrics.
//!
//! [`router`] is the table of contents; each endpoint is a file under its resource. Every error is
//! a [`problem::Problem`]. Handlers only translate: files go to [`crate::store::BlobStore`], work to
//! [`crate::jobs::Jobs`], memory is [`crate::store::Store`].

mod advice;
mod auth;
mod catalog;
mod extract;
mod headers;
mod health;
mod inventories;
mod jobs;
mod models;
mod negotiate;
mod observe;
pub mod openapi;
mod options;
mod page;
mod pages;
mod plans;
pub mod problem;
mod reports;
mod router;
mod session;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::config::{Config, Token};
use crate::jobs::Jobs;
use crate::store::{BlobStore, Store, sqlite::SqliteStore};

pub use router::router;

/// What handlers share.
#[derive(Clone)]
pub struct App {
    store: Arc<dyn Store>,
    blobs: BlobStore,
    jobs: Jobs,
    token: Option<Token>,
    upload_limit_bytes: u64,
    /// Held while the service runs: a second one on the same folder would take its jobs.
    _lock: Arc<std::fs::File>,
}

impl App {
    /// Opens the store, takes up interrupted jobs, and starts to work.
    ///
    /// # Errors
    /// When the folder is in use or cannot be used, or the token file is not fit.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        config.check()?;
        let token = config.http.token()?;
        let dir = &config.data.dir;
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let lock_file = dir.join("lock");
        let lock = std::fs::File::create(&lock_file)
            .with_context(|| format!("cannot write {}", lock_file.display()))?;
        lock.try_lock()
            .with_context(|| format!("{} is in use by another service", dir.display()))?;
        let blobs = BlobStore::open(dir)?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&dir.join("plimsoll.db")).await?);
        let in_use = store.digests_in_use().await?;
        let removed = blobs.sweep(&in_use)?;
        if removed > 0 {
            tracing::info!(blobs.removed = removed, "removed files that nothing refers to");
        }
        let jobs = Jobs::start(Arc::clone(&store), blobs.clone(), &config.jobs).await?;
        Ok(Self {
            store,
            blobs,
            jobs,
            token,
            upload_limit_bytes: config.http.upload_limit_bytes(),
            _lock: Arc::new(lock),
        })
    }

    /// Stops to work; what runs may finish within `patience`.
    pub async fn close(&self, patience: Duration) {
        self.jobs.drain(patience).await;
    }
}

/// Serves until the process is told to stop, then lets requests and jobs finish.
///
/// # Errors
/// When the settings cannot be used or the address cannot be listened on.
pub async fn serve(config: Config) -> anyhow::Result<()> {
    let app = App::open(&config).await?;
    let listen = config.http.listen;
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    tracing::info!(http.address = %address, "listening on http://{address}");
    let patience = Duration::from_secs(config.http.drain_seconds);
    let stopping = app.clone();
    let served = axum::serve(listener, router(app.clone())).with_graceful_shutdown(async move {
        stop_signal().await;
        tracing::info!("stopping: requests and jobs may finish");
        stopping.jobs.stop();
    });
    let bounded = async {
        app.jobs.stopped().await;
        tokio::time::sleep(patience).await;
    };
    tokio::select! {
        result = async { served.await } => result.context("serving failed")?,
        () = bounded => tracing::warn!("some requests did not finish in time"),
    }
    app.close(patience).await;
    tracing::info!("stopped");
    Ok(())
}

async fn stop_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
