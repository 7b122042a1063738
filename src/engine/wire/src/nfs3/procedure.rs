//! The procedures of NFS version 3 (RFC 1813 section 3.3).

use crate::xdr::xdr_enum;

xdr_enum! {
    /// A procedure, numbered as on the wire; its arguments and results are named in the text.
    Procedure "nfs3 procedure" {
        /// Does nothing.
        Null = 0,
        /// [`FileHandle`](super::FileHandle), [`GetAttrResult`](super::GetAttrResult).
        GetAttr = 1,
        /// [`SetAttrArgs`](super::SetAttrArgs), [`SetAttrResult`](super::SetAttrResult).
        SetAttr = 2,
        /// [`DirOp`](super::DirOp), [`LookupResult`](super::LookupResult).
        Lookup = 3,
        /// [`AccessArgs`](super::AccessArgs), [`AccessResult`](super::AccessResult).
        Access = 4,
        /// [`FileHandle`](super::FileHandle), [`ReadLinkResult`](super::ReadLinkResult).
        ReadLink = 5,
        /// [`ReadArgs`](super::ReadArgs), [`ReadResult`](super::ReadResult).
        Read = 6,
        /// [`WriteArgs`](super::WriteArgs), [`WriteResult`](super::WriteResult).
        Write = 7,
        /// [`CreateArgs`](super::CreateArgs), [`CreateResult`](super::CreateResult).
        Create = 8,
        /// [`MakeDirArgs`](super::MakeDirArgs), [`CreateResult`](super::CreateResult).
        MakeDir = 9,
        /// [`SymlinkArgs`](super::SymlinkArgs), [`CreateResult`](super::CreateResult).
        Symlink = 10,
        /// [`MakeNodeArgs`](super::MakeNodeArgs), [`CreateResult`](super::CreateResult).
        MakeNode = 11,
        /// [`DirOp`](super::DirOp), [`RemoveResult`](super::RemoveResult).
        Remove = 12,
        /// [`DirOp`](super::DirOp), [`RemoveResult`](super::RemoveResult).
        RemoveDir = 13,
        /// [`RenameArgs`](super::RenameArgs), [`RenameResult`](super::RenameResult).
        Rename = 14,
        /// [`LinkArgs`](super::LinkArgs), [`LinkResult`](super::LinkResult).
        Link = 15,
        /// [`ReadDirArgs`](super::ReadDirArgs), [`ReadDirResult`](super::ReadDirResult).
        ReadDir = 16,
        /// [`ReadDirPlusArgs`](super::ReadDirPlusArgs), [`ReadDirPlusResult`](super::ReadDirPlusResult).
        ReadDirPlus = 17,
        /// [`FileHandle`](super::FileHandle), [`FsStatResult`](super::FsStatResult).
        FsStat = 18,
        /// [`FileHandle`](super::FileHandle), [`FsInfoResult`](super::FsInfoResult).
        FsInfo = 19,
        /// [`FileHandle`](super::FileHandle), [`PathConfResult`](super::PathConfResult).
        PathConf = 20,
        /// [`CommitArgs`](super::CommitArgs), [`CommitResult`](super::CommitResult).
        Commit = 21,
    }
}
