//! RDMA in process: the rules of an adapter without one.
