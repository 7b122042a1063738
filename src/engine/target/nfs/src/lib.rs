//! The NFSv3 server with its MOUNT and portmap services.
