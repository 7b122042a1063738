//! RDMA by rdma-core (libibverbs, librdmacm): the fabric of real adapters and of soft RoCE.
