//! nfs-ganesha as the judge.
