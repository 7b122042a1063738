//! What an array remembers: pools, volumes, persistent reservations.
//!
//! In the backing folder they live in one redb file; every change is one transaction that is durable before
//! it returns, so a power loss shows either the old state or the new one. An array in memory remembers nothing.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};

use crate::{ArrayError, PoolSettings, StoreError, VolumeSettings};

const ABOUT: TableDefinition<&str, u32> = TableDefinition::new("about");
const POOLS: TableDefinition<&str, &str> = TableDefinition::new("pools");
const VOLUMES: TableDefinition<&str, &str> = TableDefinition::new("volumes");
const RESERVATIONS: TableDefinition<&str, &[u8]> = TableDefinition::new("reservations");
/// Version of what the tables hold.
const FORMAT: u32 = 1;

/// A pool and when it was created, which orders the pools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolRecord {
    pub order: u64,
    pub settings: PoolSettings,
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct VolumeRecord {
    pub order: u64,
    pub serial: String,
    pub pool: String,
    /// Its logical unit number, if it is a block volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun: Option<u16>,
    /// When its throughput was last raised, in seconds of Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised_at: Option<u64>,
    pub settings: VolumeSettings,
}

/// One change of the records.
pub(crate) enum Change<'a> {
    PutPool(&'a PoolRecord),
    DropPool(&'a str),
    PutVolume(&'a VolumeRecord),
    /// By serial; forgets its reservations as well.
    DropVolume(&'a str),
}

/// Where it is remembered.
#[derive(Debug)]
pub(crate) enum Metadata {
    Memory,
    File(Database),
}

fn failed(error: impl Into<redb::Error>) -> ArrayError {
    ArrayError::Metadata { source: Box::new(error.into()) }
}

fn unreadable(what: &str, error: impl std::fmt::Display) -> ArrayError {
    ArrayError::Unreadable { what: what.to_owned(), message: error.to_string() }
}

impl Metadata {
    pub fn open(path: &Path) -> Result<Self, ArrayError> {
        let database = Database::create(path).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => ArrayError::InUse { path: path.to_owned() },
            other => failed(other),
        })?;
        let write = database.begin_write().map_err(failed)?;
        {
            let mut about = write.open_table(ABOUT).map_err(failed)?;
            let found = about.get("format").map_err(failed)?.map(|value| value.value());
            match found {
                None => {
                    about.insert("format", FORMAT).map_err(failed)?;
                }
                Some(FORMAT) => {}
                Some(other) => {
                    return Err(unreadable(
                        "the array's metadata",
                        format_args!("format {other} was written by a newer version"),
                    ));
                }
            }
            // Tables exist from here on, so that reading needs no case for their absence.
            write.open_table(POOLS).map_err(failed)?;
            write.open_table(VOLUMES).map_err(failed)?;
            write.open_table(RESERVATIONS).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(Self::File(database))
    }

    /// Everything that was remembered, in the order of creation.
    pub fn load(&self) -> Result<(Vec<PoolRecord>, Vec<VolumeRecord>), ArrayError> {
        let Self::File(database) = self else { return Ok((Vec::new(), Vec::new())) };
        let read = database.begin_read().map_err(failed)?;
        let mut pools = Vec::new();
        for row in read.open_table(POOLS).map_err(failed)?.iter().map_err(failed)? {
            let (name, text) = row.map_err(failed)?;
            let record: PoolRecord = toml::from_str(text.value())
                .map_err(|error| unreadable(&format!("pool {}", name.value()), error))?;
            pools.push(record);
        }
        let mut volumes = Vec::new();
        for row in read.open_table(VOLUMES).map_err(failed)?.iter().map_err(failed)? {
            let (serial, text) = row.map_err(failed)?;
            let record: VolumeRecord = toml::from_str(text.value())
                .map_err(|error| unreadable(&format!("volume {}", serial.value()), error))?;
            volumes.push(record);
        }
        pools.sort_by_key(|pool| pool.order);
        volumes.sort_by_key(|volume| volume.order);
        Ok((pools, volumes))
    }

    /// Makes the changes durable, all or none.
    pub fn apply(&self, changes: &[Change<'_>]) -> Result<(), ArrayError> {
        let Self::File(database) = self else { return Ok(()) };
        let write = database.begin_write().map_err(failed)?;
        {
            let mut pools = write.open_table(POOLS).map_err(failed)?;
            let mut volumes = write.open_table(VOLUMES).map_err(failed)?;
            let mut reservations = write.open_table(RESERVATIONS).map_err(failed)?;
            for change in changes {
                match change {
                    Change::PutPool(pool) => {
                        let text = toml::to_string(pool)
                            .map_err(|error| unreadable(&pool.settings.name, error))?;
                        pools.insert(pool.settings.name.as_str(), text.as_str()).map_err(failed)?;
                    }
                    Change::DropPool(name) => {
                        pools.remove(name).map_err(failed)?;
                    }
                    Change::PutVolume(volume) => {
                        let text = toml::to_string(volume)
                            .map_err(|error| unreadable(&volume.settings.name, error))?;
                        volumes.insert(volume.serial.as_str(), text.as_str()).map_err(failed)?;
                    }
                    Change::DropVolume(serial) => {
                        volumes.remove(serial).map_err(failed)?;
                        reservations.remove(serial).map_err(failed)?;
                    }
                }
            }
        }
        write.commit().map_err(failed)
    }

    /// The saved reservations of a volume.
    pub fn reservations(&self, serial: &str) -> Result<Option<Vec<u8>>, ArrayError> {
        let Self::File(database) = self else { return Ok(None) };
        let read = || -> Result<Option<Vec<u8>>, redb::Error> {
            let read = database.begin_read()?;
            let table = read.open_table(RESERVATIONS)?;
            Ok(table.get(serial)?.map(|blob| blob.value().to_vec()))
        };
        read().map_err(failed)
    }

    /// Saves or forgets the reservations of a volume.
    pub fn save_reservations(&self, serial: &str, blob: Option<&[u8]>) -> Result<(), StoreError> {
        let Self::File(database) = self else { return Ok(()) };
        let save = || -> Result<(), redb::Error> {
            let write = database.begin_write()?;
            {
                let mut table = write.open_table(RESERVATIONS)?;
                match blob {
                    Some(blob) => table.insert(serial, blob)?,
                    None => table.remove(serial)?,
                };
            }
            write.commit()?;
            Ok(())
        };
        save().map_err(|error| store_failed("save reservations", &error))
    }
}

fn store_failed(operation: &'static str, error: &redb::Error) -> StoreError {
    tracing::error!(%error, operation, "the array's metadata file failed");
    match error {
        redb::Error::Io(source) => StoreError::io(operation, source),
        _ => StoreError::Io { operation, kind: std::io::ErrorKind::Other },
    }
}
