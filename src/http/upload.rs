//! Takes a multipart upload: every file to a temporary file, counted and hashed on the way, never
//! whole in memory.

use std::time::Duration;

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header;
use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;
use tokio::io::AsyncWriteExt as _;
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};

use super::App;
use super::extract::has_type;
use super::problem::Problem;
use crate::store::{BlobStore, Digest, FileRecord, StoreError};

/// Files of one upload: a folder of CSV has about 30.
const MOST_FILES: usize = 512;

/// Bytes of the `options` field.
const OPTIONS_LIMIT_BYTES: usize = super::extract::JSON_LIMIT_BYTES;

/// Characters of a file's name that are kept.
const NAME_CHARACTERS: usize = 200;

/// How much of a too large upload is read and dropped, so that the sender gets to read the answer
/// instead of a broken connection.
const DISCARD_BYTES: u64 = 1 << 30;

/// How long that may take.
const DISCARD_TIME: Duration = Duration::from_secs(60);

/// How files of a form are described.
pub fn files() -> Schema {
    ArrayBuilder::new()
        .items(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))),
        )
        .min_items(Some(1))
        .max_items(Some(MOST_FILES))
        .build()
        .into()
}

/// What was received.
pub struct Upload {
    /// The files, in their order.
    pub files: Vec<Received>,
    /// The field `options`, when there was one.
    pub options: Option<Vec<u8>>,
}

/// One received file; it is deleted when this is dropped.
pub struct Received {
    /// Name, hash, size.
    pub record: FileRecord,
    /// Where it is.
    pub path: TempPath,
}

/// Reads the request to its end.
pub async fn receive(app: &App, request: Request) -> Result<Upload, Problem> {
    if !has_type(request.headers(), &["multipart/form-data"]) {
        return Err(Problem::unsupported_media_type("multipart/form-data"));
    }
    let limit = app.upload_limit_bytes;
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    // Boundaries and headers of the parts come on top of the files.
    let overhead = (MOST_FILES as u64) << 10;
    if announced.is_some_and(|bytes| bytes > limit + overhead) {
        discard(request).await;
        return Err(Problem::too_large(limit, "the upload"));
    }
    let mut multipart = Multipart::from_request(request, &())
        .await
        .map_err(|rejection| Problem::unreadable("multipart_unreadable", rejection.body_text()))?;
    let mut upload = Upload { files: Vec::new(), options: None };
    let mut left = limit;
    while let Some(field) = multipart.next_field().await.map_err(unreadable)? {
        let name = field.name().unwrap_or_default().to_owned();
        if let Some(file_name) = field.file_name().map(clean_name) {
            if upload.files.len() == MOST_FILES {
                return Err(Problem::unfit(
                    "too_many_files",
                    format!("more than {MOST_FILES} files in one upload"),
                ));
            }
            match receive_file(&app.blobs, field, file_name, &mut left).await? {
                Some(received) => upload.files.push(received),
                None => {
                    discard_rest(multipart).await;
                    return Err(Problem::too_large(limit, "the upload"));
                }
            }
        } else if name == "options" {
            upload.options = Some(receive_text(field).await?);
        } else {
            return Err(Problem::unfit(
                "unknown_field",
                "a part is neither a file (it has no file name) nor the field options",
            )
            .at(name, "expected files and, at most once, the field options"));
        }
    }
    Ok(upload)
}

/// `None` when the limit was passed.
async fn receive_file(
    blobs: &BlobStore,
    mut field: Field<'_>,
    name: String,
    left: &mut u64,
) -> Result<Option<Received>, Problem> {
    let temporary = blobs.temporary_file()?;
    let (file, path) = temporary.into_parts();
    let mut file = tokio::fs::File::from_std(file);
    let failed = |source| {
        Problem::from(StoreError::File {
            operation: "write an upload to",
            path: path.to_path_buf(),
            source,
        })
    };
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    while let Some(chunk) = field.chunk().await.map_err(unreadable)? {
        let size = chunk.len() as u64;
        if size > *left {
            return Ok(None);
        }
        *left -= size;
        bytes += size;
        hasher.update(&chunk);
        file.write_all(&chunk).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)?;
    let record = FileRecord { name, sha256: Digest::finish(hasher), bytes };
    Ok(Some(Received { record, path }))
}

async fn receive_text(mut field: Field<'_>) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(unreadable)? {
        if text.len() + chunk.len() > OPTIONS_LIMIT_BYTES {
            return Err(Problem::too_large(OPTIONS_LIMIT_BYTES as u64, "the field options"));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// The last part of a path in the sender's style, without control characters.
fn clean_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String =
        last.chars().filter(|character| !character.is_control()).take(NAME_CHARACTERS).collect();
    if name.trim().is_empty() { "upload".to_owned() } else { name }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn unreadable(error: MultipartError) -> Problem {
    Problem::unreadable("multipart_unreadable", error.body_text())
}

async fn discard(request: Request) {
    let mut body = request.into_body().into_data_stream();
    let mut seen = 0;
    let reading = async {
        while let Some(Ok(chunk)) = body.next().await {
            seen += chunk.len() as u64;
            if seen > DISCARD_BYTES {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
}

async fn discard_rest(mut multipart: Multipart) {
    let mut seen = 0;
    let reading = async {
        while let Ok(Some(mut field)) = multipart.next_field().await {
            while let Ok(Some(chunk)) = field.chunk().await {
                seen += chunk.len() as u64;
                if seen > DISCARD_BYTES {
                    return;
                }
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
}

#[cfg(test)]
mod tests {
    use super::clean_name;

    #[test]
    fn a_name_keeps_no_path() {
        assert_eq!(clean_name("../../etc/passwd"), "passwd");
        assert_eq!(clean_name("C:\\exports\\RVTools.xlsx"), "RVTools.xlsx");
        assert_eq!(clean_name("a\u{0}b\n.csv"), "ab.csv");
        assert_eq!(clean_name("folder/"), "upload");
        assert_eq!(clean_name(&"x".repeat(500)).len(), 200);
    }
}
