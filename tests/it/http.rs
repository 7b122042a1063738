//! The service as callers meet it: whole requests through the router, and the process itself where
//! killing it is the point.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use plimsoll::config::{Config, Overrides};
use plimsoll::http::{App, router};
use serde_json::{Value, json};
use tower::ServiceExt as _;

mod advice;
mod killed;

const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const BOUNDARY: &str = "plimsoll-test-boundary";

/// How long a job may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The sample that the start page offers: 232 VMs, as its README says.
pub(crate) fn sample() -> Vec<u8> {
    std::fs::read(root().join("data/samples/sample.xlsx")).unwrap()
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A service on a folder of its own.
struct TestApp {
    router: Router,
    app: App,
    dir: tempfile::TempDir,
}

impl TestApp {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::layer([], &Overrides::default()).unwrap();
        config.data.dir = dir.path().join("var");
        change(&mut config);
        let app = App::open(&config).await.unwrap();
        Self { router: router(app.clone()), app, dir }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    async fn post_json(&self, path: &str, body: &Value) -> Answer {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        self.send(request).await
    }

    /// Waits for a job and answers with its last state.
    async fn ended(&self, job: &Value) -> Value {
        let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
        let began = std::time::Instant::now();
        loop {
            let job = self.get(&path).await.json();
            if ["done", "failed", "cancelled"].contains(&job["state"].as_str().unwrap()) {
                return job;
            }
            assert!(began.elapsed() < PATIENCE, "the job did not end: {job}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Uploads files, waits until they are read, and answers with the inventory.
    async fn read(&self, files: &[(&str, &[u8])]) -> Value {
        let made = self.send(form("/api/v1/inventories", files, None)).await;
        assert_eq!(made.status, StatusCode::ACCEPTED, "{}", made.text());
        let job = self.ended(&made.json()["job"]).await;
        assert_eq!(job["state"], "done", "{job}");
        self.get(job["result"].as_str().unwrap()).await.json()
    }
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that it is a whole problem document and answers with its code.
    fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for member in ["type", "title", "detail", "code"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{problem}");
        }
        assert!(problem["errors"].is_array());
        problem["code"].as_str().unwrap().to_owned()
    }
}

fn form(path: &str, files: &[(&str, &[u8])], options: Option<&Value>) -> Request<Body> {
    let mut body = Vec::new();
    for (name, bytes) in files {
        body.extend_from_slice(
            format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; \
                 filename=\"{name}\"\r\ncontent-type: application/octet-stream\r\n\r\n"
            )
            .as_bytes(),
        );
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    if let Some(options) = options {
        body.extend_from_slice(
            format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"options\"\r\n\r\n{options}\r\n"
            )
            .as_bytes(),
        );
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    Request::post(path)
        .header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={BOUNDARY}"))
        .body(Body::from(body))
        .unwrap()
}

// --- reports in one shot ---

#[tokio::test(flavor = "multi_thread")]
async fn a_report_comes_in_every_format() {
    let app = TestApp::new().await;
    let sample = sample();
    let files = [("sample.xlsx", sample.as_slice())];
    for (format, media_type, begins) in [
        ("html", "text/html; charset=utf-8", b"<!".as_slice()),
        ("json", "application/json", b"{"),
        ("xlsx", XLSX, b"PK"),
        ("csv", "text/csv; charset=utf-8", b""),
        ("md", "text/markdown; charset=utf-8", b"#"),
    ] {
        let path = format!("/api/v1/reports?format={format}");
        let answer = app.send(form(&path, &files, None)).await;
        assert_eq!(answer.status, StatusCode::OK, "{format}: {}", answer.text());
        assert_eq!(answer.header("content-type"), media_type);
        assert!(answer.bytes.len() > 100 && answer.bytes.starts_with(begins), "{format}");
    }
    let mut request = form("/api/v1/reports", &files, None);
    request.headers_mut().insert(header::ACCEPT, "application/json".parse().unwrap());
    let report = app.send(request).await.json();
    assert!(report["answer"].as_str().is_some_and(|answer| !answer.is_empty()));
    assert_eq!(report["inventory"]["totals"]["vms_in_file"], 232);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_gives_the_same_bytes() {
    let app = TestApp::new().await;
    let sample = sample();
    let mut reports = Vec::new();
    for _ in 0..2 {
        let request = form("/api/v1/reports?format=html", &[("s.xlsx", &sample)], None);
        let answer = app.send(request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        reports.push(answer.bytes);
    }
    assert!(reports[0] == reports[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn averages_take_the_place_of_files() {
    let app = TestApp::new().await;
    let options = json!({ "averages": { "vm_count": 400, "storage_gib_per_vm": 180.0,
        "iops_per_vm": 120.0, "mibps_per_vm": 1.2, "hosts": 4 } });
    let answer = app.send(form("/api/v1/reports?format=json", &[], Some(&options))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let nothing = app.send(form("/api/v1/reports", &[], None)).await;
    assert_eq!(nothing.problem(422), "files_or_averages");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_report_is_refused_with_its_reason() {
    let app = TestApp::new().await;
    let files = [("notes.txt", b"no inventory at all".as_slice())];
    let refused = app.send(form("/api/v1/reports", &files, None)).await;
    assert!(refused.problem(422).starts_with("file_"), "{}", refused.text());
    assert_eq!(refused.json()["errors"][0]["at"], "notes.txt");

    let no_form = app.post_json("/api/v1/reports", &json!({})).await;
    assert_eq!(no_form.problem(415), "unsupported_media_type");

    let mut picture = form("/api/v1/reports", &files, None);
    picture.headers_mut().insert(header::ACCEPT, "image/png".parse().unwrap());
    assert_eq!(app.send(picture).await.problem(406), "not_acceptable");

    let mut cut = form("/api/v1/reports", &files, None);
    *cut.body_mut() =
        Body::from(format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"f\""));
    assert_eq!(app.send(cut).await.problem(400), "multipart_unreadable");

    let options = json!({ "plan": { "headroom_pct": -5, "hosts": "four" } });
    let wrong_type = app.send(form("/api/v1/reports", &files, Some(&options))).await;
    assert_eq!(wrong_type.problem(422), "values_do_not_fit");
    assert_eq!(wrong_type.json()["errors"][0]["at"], "/options/plan/hosts");
    let options = json!({ "plan": { "headroom_pct": -5, "nconnect": 0 } });
    let ranges = app.send(form("/api/v1/reports", &files, Some(&options))).await;
    assert_eq!(ranges.problem(422), "values_do_not_fit");
    assert_eq!(ranges.json()["errors"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_beyond_the_limit_is_answered_and_not_kept() {
    let app = TestApp::with(|config| config.http.upload_limit_mib = 1).await;
    let large = vec![b'x'; 2 << 20];
    for path in ["/api/v1/reports", "/api/v1/inventories"] {
        let answer = app.send(form(path, &[("large.csv", &large)], None)).await;
        assert_eq!(answer.problem(413), "too_large");
        // The same without an announced length.
        let mut streamed = form(path, &[("large.csv", &large)], None);
        let chunks = std::mem::take(streamed.body_mut()).into_data_stream();
        *streamed.body_mut() = Body::from_stream(chunks);
        assert_eq!(app.send(streamed).await.problem(413), "too_large");
    }
    let left =
        |folder: &str| std::fs::read_dir(app.dir.path().join("var").join(folder)).unwrap().count();
    assert_eq!((left("tmp"), left("blobs")), (0, 0));
}

// --- inventories, jobs, plans ---

#[tokio::test(flavor = "multi_thread")]
async fn from_upload_to_report_and_forgotten() {
    let app = TestApp::new().await;
    let sample = sample();
    let made = app.send(form("/api/v1/inventories", &[("a/b/sample.xlsx", &sample)], None)).await;
    assert_eq!(made.status, StatusCode::ACCEPTED);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let address = format!("/api/v1/inventories/{id}");
    assert_eq!(made.header("location"), address);
    assert_eq!(made.json()["files"][0]["name"], "sample.xlsx");
    assert_eq!(app.ended(&made.json()["job"]).await["state"], "done");

    let inventory = app.get(&address).await.json();
    assert_eq!(inventory["summary"]["totals"]["vms_in_file"], 232);
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let page = app.get(&format!("{address}/vms?limit=100{after}")).await.json();
        let items = page["items"].as_array().unwrap();
        names.extend(items.iter().map(|vm| vm["key"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(names.len(), 232);
    let datastores = app.get(&format!("{address}/datastores")).await.json();
    assert_eq!(datastores["items"].as_array().unwrap().len(), 11);
    let findings = app.get(&format!("{address}/findings")).await.json();
    assert!(!findings["items"].as_array().unwrap().is_empty());
    let problems = app.get(&format!("{address}/problems")).await;
    assert_eq!(problems.status, StatusCode::OK);
    let workbook = app.get(&format!("{address}/problems?format=xlsx")).await;
    assert_eq!(workbook.header("content-type"), XLSX);
    assert!(workbook.bytes.starts_with(b"PK"));

    let body = json!({ "inventory_id": id, "options": { "plan": { "headroom_pct": 25 } } });
    let plan = app.post_json("/api/v1/plans", &body).await;
    assert_eq!(plan.status, StatusCode::ACCEPTED, "{}", plan.text());
    let plan_address = plan.header("location").to_owned();
    let job = app.ended(&plan.json()["job"]).await;
    assert_eq!((&job["state"], &job["result"]), (&json!("done"), &json!(plan_address)));
    let plan = app.get(&plan_address).await.json();
    assert_eq!(plan["options"]["plan"]["headroom_pct"], 25.0);
    assert!(plan["summary"]["datastores"].as_u64().unwrap() >= 1);
    assert_eq!(plan["reports"].as_array().unwrap().len(), 5);
    for report in plan["reports"].as_array().unwrap() {
        let answer = app.get(report["href"].as_str().unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.bytes.len() as u64, report["bytes"].as_u64().unwrap());
    }
    let page = app.get(&format!("{plan_address}/report?format=html")).await;
    assert!(page.header("content-security-policy").contains("sandbox"));
    assert_eq!(app.get("/api/v1/plans").await.json()["items"].as_array().unwrap().len(), 1);

    let gone = app.send(Request::delete(&address).body(Body::empty()).unwrap()).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(app.get(&address).await.problem(404), "not_found");
    assert_eq!(app.get(&plan_address).await.problem(404), "not_found");
    let blobs = app.dir.path().join("var/blobs");
    let files: usize = std::fs::read_dir(blobs)
        .unwrap()
        .map(|shard| std::fs::read_dir(shard.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(files, 0, "files of a forgotten inventory are still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn licence_keys_and_secrets_are_in_no_answer() {
    let app = TestApp::new().await;
    let sample = sample();
    let inventory = app.read(&[("sample.xlsx", &sample)]).await;
    let address = format!("/api/v1/inventories/{}", inventory["id"].as_str().unwrap());
    let mut answers = vec![inventory.to_string().into_bytes()];
    for list in ["problems", "findings", "vms", "datastores"] {
        let answer = app.get(&format!("{address}/{list}?limit=1000")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        answers.push(answer.bytes);
    }
    for format in ["json", "html", "csv", "md"] {
        let path = format!("/api/v1/reports?format={format}");
        let answer = app.send(form(&path, &[("sample.xlsx", &sample)], None)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        answers.push(answer.bytes);
    }
    let planted = plimsoll_support::secrets::LICENCE_KEYS
        .iter()
        .copied()
        .chain(plimsoll_support::secrets::ANNOTATIONS.iter().map(|(secret, _)| *secret));
    for secret in planted {
        for answer in &answers {
            let text = String::from_utf8_lossy(answer);
            assert!(!text.contains(secret), "{secret} is in an answer");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_file_fails_its_job_with_the_reason() {
    let app = TestApp::new().await;
    let made =
        app.send(form("/api/v1/inventories", &[("broken.xlsx", b"PK\x03\x04cut")], None)).await;
    let job = app.ended(&made.json()["job"]).await;
    assert_eq!(job["state"], "failed");
    assert!(job["problem"]["code"].as_str().unwrap().starts_with("file_"), "{job}");
    let address = job["result"].as_str().unwrap();
    assert_eq!(app.get(&format!("{address}/vms")).await.problem(409), "inventory_not_read");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_to_the_end() {
    let app = TestApp::new().await;
    let made = app.send(form("/api/v1/inventories", &[("s.xlsx", &sample())], None)).await.json();
    let job = made["job"]["id"].as_str().unwrap();
    // The stream ends by itself: reading it whole returns.
    let stream = app.get(&format!("/api/v1/jobs/{job}/events")).await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    let states: Vec<Value> = stream
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(states.last().unwrap()["state"], "done");
    assert!(states.iter().all(|state| state["id"] == job));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_can_be_cancelled_once() {
    let app = TestApp::new().await;
    // Stopped before: nothing is taken from the queue, so the job waits.
    app.app.close(Duration::from_secs(5)).await;
    let made = app.send(form("/api/v1/inventories", &[("s.xlsx", &sample())], None)).await.json();
    let path = format!("/api/v1/jobs/{}", made["job"]["id"].as_str().unwrap());
    assert_eq!(app.get(&path).await.json()["state"], "queued");
    let delete = || Request::delete(&path).body(Body::empty()).unwrap();
    let cancelled = app.send(delete()).await;
    assert_eq!(cancelled.status, StatusCode::ACCEPTED);
    assert_eq!(cancelled.json()["state"], "cancelled");
    assert_eq!(app.send(delete()).await.problem(409), "job_ended");
    assert_eq!(app.get("/readyz").await.problem(503), "unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_a_key_counts_once() {
    let app = TestApp::new().await;
    let sample = sample();
    let send = async |name: &str| {
        let mut request = form("/api/v1/inventories", &[(name, &sample)], None);
        request.headers_mut().insert("idempotency-key", "upload-1".parse().unwrap());
        app.send(request).await
    };
    let first = send("s.xlsx").await.json();
    let again = send("s.xlsx").await;
    assert_eq!((again.status, &again.json()["id"]), (StatusCode::ACCEPTED, &first["id"]));
    assert_eq!(send("other.xlsx").await.problem(422), "idempotency_key_reused");
    let mut spaced = form("/api/v1/inventories", &[("s.xlsx", &sample)], None);
    spaced.headers_mut().insert("idempotency-key", "up load".parse().unwrap());
    assert_eq!(app.send(spaced).await.problem(400), "idempotency_key_unreadable");
    assert_eq!(app.get("/api/v1/inventories").await.json()["items"].as_array().unwrap().len(), 1);
}

// --- models, catalogue ---

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_fitted_and_asked() {
    let app = TestApp::new().await;
    let shipped = app.get("/api/v1/models").await.json();
    let id = shipped["items"][0]["id"].as_str().unwrap();
    let model = app.get(&format!("/api/v1/models/{id}")).await.json();
    assert_eq!(model["model"]["id"], id);

    let points = std::fs::read(root().join("data/reference/scaling_points.csv")).unwrap();
    let request = Request::post("/api/v1/models/fit?platform=azure-vmware-solution-av36-anf")
        .header(header::CONTENT_TYPE, "text/csv")
        .body(Body::from(points))
        .unwrap();
    let fitted = app.send(request).await;
    assert_eq!(fitted.status, StatusCode::CREATED, "{}", fitted.text());
    assert!(fitted.json()["report"]["leave_one_out"]["median_pct"].as_f64().unwrap() <= 7.0);
    let address = fitted.header("location").to_owned();
    assert_eq!(app.get(&address).await.json()["origin"], "fitted");

    let body = json!({ "configurations": [
        { "hosts": 4, "datastores": 1 }, { "hosts": 4, "datastores": 8 } ] });
    let answer = app.post_json(&format!("{address}/predict"), &body).await;
    let predictions = answer.json()["predictions"].as_array().unwrap().clone();
    let iops: Vec<&Value> =
        predictions.iter().filter(|entry| entry["quantity"] == "iops").collect();
    assert_eq!(iops.len(), 2);
    assert!(iops[1]["median"].as_f64() > iops[0]["median"].as_f64());

    let body = json!({ "configurations": [{ "hosts": 0, "datastores": 1 }] });
    let refused = app.post_json(&format!("{address}/predict"), &body).await;
    assert_eq!(refused.problem(422), "values_do_not_fit");
    assert_eq!(refused.json()["errors"][0]["at"], "/configurations/0/hosts");
    let bad = Request::post("/api/v1/models/fit")
        .header(header::CONTENT_TYPE, "text/csv")
        .body(Body::from("a,b\n1,2\n"))
        .unwrap();
    assert_eq!(app.send(bad).await.problem(422), "points_refused");
    assert_eq!(app.get("/api/v1/models/none").await.problem(404), "not_found");
    assert!(app.get("/api/v1/catalog").await.json()["platforms"].is_array());
    assert_eq!(app.get("/api/v1/rules").await.text(), plimsoll_demand::rules_text());
}

// --- errors, access, pages ---

#[tokio::test(flavor = "multi_thread")]
async fn every_error_is_a_problem_document() {
    let app = TestApp::new().await;
    assert_eq!(app.get("/nowhere").await.problem(404), "no_route");
    assert_eq!(app.get("/api/v1/nowhere").await.problem(404), "no_route");
    assert_eq!(app.get("/web/nowhere.js").await.problem(404), "no_route");
    assert_eq!(app.get("/api/v1/jobs/7").await.problem(400), "id_unreadable");
    assert_eq!(app.get("/api/v1/inventories?limit=0").await.problem(400), "query_unreadable");
    assert_eq!(app.get("/api/v1/inventories?limit=x").await.problem(400), "query_unreadable");
    assert_eq!(app.get("/api/v1/inventories?after=x").await.problem(400), "query_unreadable");
    let missing = "/api/v1/jobs/0199b3d2-7c11-7cc3-98d4-0a9be1f4a2c7";
    assert_eq!(app.get(missing).await.problem(404), "not_found");
    let method = Request::builder().method(Method::PUT).uri("/api/v1/plans").body(Body::empty());
    let answer = app.send(method.unwrap()).await;
    assert_eq!(answer.problem(405), "method_not_allowed");
    assert!(answer.header("allow").contains("POST"), "{:?}", answer.headers);
    let plain = Request::post("/api/v1/plans").body(Body::from("{}")).unwrap();
    assert_eq!(app.send(plain).await.problem(415), "unsupported_media_type");
    let cut = Request::post("/api/v1/plans").header("content-type", "application/json");
    let cut = cut.body(Body::from("{\"inventory_id\":")).unwrap();
    assert_eq!(app.send(cut).await.problem(400), "json_unreadable");
    let unknown = json!({ "inventory_id": "0199b3d2-7c11-7cc3-98d4-0a9be1f4a2c7", "tier": 1 });
    assert_eq!(app.post_json("/api/v1/plans", &unknown).await.problem(422), "values_do_not_fit");
    let large = json!({ "inventory_id": "x".repeat(2 << 20) });
    assert_eq!(app.post_json("/api/v1/plans", &large).await.problem(413), "too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_guards_the_data() {
    let token = "correct-horse-battery-staple";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{token}\n")).unwrap();
    let app = TestApp::with(|config| {
        config.http.token_file = Some(file.path().to_owned());
        config.http.listen = "0.0.0.0:0".parse().unwrap();
    })
    .await;
    let with = |name: &'static str, value: String| {
        Request::get("/api/v1/inventories").header(name, value).body(Body::empty()).unwrap()
    };
    let refused = app.get("/api/v1/inventories").await;
    assert_eq!(refused.problem(401), "unauthorized");
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    assert_eq!(app.get("/metrics").await.problem(401), "unauthorized");
    assert_eq!(
        app.send(with("authorization", "Bearer wrong".into())).await.problem(401),
        "unauthorized"
    );
    let allowed = app.send(with("authorization", format!("Bearer {token}"))).await;
    assert_eq!(allowed.status, StatusCode::OK);
    for path in ["/", "/healthz", "/readyz", "/version", "/docs/", "/openapi.yaml"] {
        assert_eq!(app.get(path).await.status, StatusCode::OK, "{path}");
    }
    let session =
        Request::post("/api/v1/session").header("authorization", format!("Bearer {token}"));
    let session = app.send(session.body(Body::empty()).unwrap()).await;
    let cookie = session.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(app.send(with("cookie", pair)).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_service_on_the_same_folder_is_refused() {
    let app = TestApp::new().await;
    let mut config = Config::default();
    config.data.dir = app.dir.path().join("var");
    let error = App::open(&config).await.err().unwrap().to_string();
    assert!(error.contains("in use"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_carry_a_strict_policy_and_everything_they_need() {
    let app = TestApp::new().await;
    let page = app.get("/").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert!(!page.header("x-request-id").is_empty());
    let text = page.text();
    assert!(!text.contains("style=") && !text.contains("onclick="), "inline code in the page");
    for part in text.split('"').filter(|part| part.starts_with("/web/")) {
        assert_eq!(app.get(part).await.status, StatusCode::OK, "{part}");
    }
    let known = Request::get("/").header("if-none-match", page.header("etag"));
    let again = app.send(known.body(Body::empty()).unwrap()).await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    assert_eq!(app.get("/sample.xlsx").await.bytes, sample());
    let metrics = app.get("/metrics").await.text();
    assert!(metrics.contains("plimsoll_http_requests_total"), "{metrics}");
    let docs = app.get("/docs/").await.text();
    assert!(!docs.contains("https://"), "the documentation loads from elsewhere");
}

// --- the description ---

#[test]
fn openapi_yaml_is_what_the_code_says() {
    let written = std::fs::read_to_string(root().join("openapi.yaml")).unwrap();
    let said = plimsoll::http::openapi::yaml().unwrap();
    assert!(
        written == said,
        "openapi.yaml is out of date: write it again with `plimsoll openapi > openapi.yaml`"
    );
}

#[test]
fn the_description_leaves_no_error_without_its_document() {
    let document = serde_json::to_value(plimsoll::http::openapi::document()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if !["get", "post", "put", "delete"].contains(&method.as_str()) {
                continue;
            }
            operations += 1;
            assert!(operation["operationId"].is_string(), "{method} {path}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                if status.starts_with(['4', '5']) {
                    let content = &response["content"]["application/problem+json"];
                    assert!(content.is_object(), "{method} {path} {status}");
                }
            }
        }
    }
    assert!(operations >= 24, "{operations}");
}
