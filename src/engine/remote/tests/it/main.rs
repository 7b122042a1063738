//! Remote volumes against targets of this project, over TCP and over soft RDMA.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod chains;
mod cuts;
mod limits;
mod proxy;
mod served;
mod support;
mod switching;
