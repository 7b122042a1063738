//! What every store has to do. Run against SQLite here; another implementation adds one line.

#![allow(clippy::unwrap_used)]

use jiff::Timestamp;
use uuid::Uuid;

use super::{
    Artefact, Created, Digest, Fault, FileRecord, IdempotencyKey, InventoryRecord, ItemKind,
    JobKind, JobRecord, JobState, ModelRecord, PlanRecord, PlanSource, Store, StoreError,
    StoredProblem,
};

macro_rules! conformance {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $case() {
                let dir = tempfile::tempdir().unwrap();
                let file = dir.path().join("plimsoll.db");
                super::$case(&crate::store::sqlite::SqliteStore::open(&file).await.unwrap()).await;
            })*
        }
    };
}

conformance! {
    an_inventory_is_kept_with_its_job,
    inventories_are_paged_newest_first,
    lists_are_paged_in_order,
    a_key_makes_a_request_count_once,
    jobs_are_claimed_once_and_oldest_first,
    a_job_ends_once,
    an_interrupted_job_can_be_queued_again,
    a_plan_keeps_its_result,
    forgetting_an_inventory_takes_all_that_hangs_on_it,
    models_are_kept,
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn job(kind: JobKind, subject: Uuid) -> JobRecord {
    JobRecord {
        id: Uuid::now_v7(),
        kind,
        subject,
        state: JobState::Queued,
        attempts: 0,
        created: Timestamp::now(),
        started: None,
        finished: None,
        problem: None,
    }
}

fn inventory(file: &str) -> (InventoryRecord, JobRecord) {
    let id = Uuid::now_v7();
    let job = job(JobKind::Ingest, id);
    let files =
        vec![FileRecord { name: file.to_owned(), sha256: digest(file), bytes: file.len() as u64 }];
    (InventoryRecord { id, created: Timestamp::now(), files, job: job.id, summary: None }, job)
}

fn plan(source: PlanSource) -> (PlanRecord, JobRecord) {
    let id = Uuid::now_v7();
    let job = job(JobKind::Plan, id);
    let record = PlanRecord {
        id,
        created: Timestamp::now(),
        source,
        options: "{}".to_owned(),
        job: job.id,
        summary: None,
        artefacts: Vec::new(),
    };
    (record, job)
}

async fn an_inventory_is_kept_with_its_job(store: &dyn Store) {
    let (mut record, job) = inventory("a.xlsx");
    assert_eq!(store.create_inventory(&record, &job, None).await.unwrap(), Created::New);
    assert_eq!(store.inventory(record.id).await.unwrap().as_ref(), Some(&record));
    assert_eq!(store.job(job.id).await.unwrap(), Some(job));
    store.set_inventory_summary(record.id, r#"{"vms":3}"#).await.unwrap();
    record.summary = Some(r#"{"vms":3}"#.to_owned());
    assert_eq!(store.inventory(record.id).await.unwrap(), Some(record));
    assert_eq!(store.inventory(Uuid::now_v7()).await.unwrap(), None);
}

async fn inventories_are_paged_newest_first(store: &dyn Store) {
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        let (record, job) = inventory(name);
        store.create_inventory(&record, &job, None).await.unwrap();
        ids.insert(0, record.id);
    }
    let first = store.inventories(None, 2).await.unwrap();
    assert_eq!(first.items.iter().map(|record| record.id).collect::<Vec<_>>(), ids[..2]);
    let after = first.next.unwrap().parse().unwrap();
    let second = store.inventories(Some(after), 2).await.unwrap();
    assert_eq!(second.items.iter().map(|record| record.id).collect::<Vec<_>>(), ids[2..]);
    assert_eq!(second.next, None);
}

async fn lists_are_paged_in_order(store: &dyn Store) {
    let (record, job) = inventory("a");
    store.create_inventory(&record, &job, None).await.unwrap();
    store.append_items(record.id, ItemKind::Vm, 0, r#"[{"n":0},{"n":1}]"#).await.unwrap();
    store.append_items(record.id, ItemKind::Vm, 2, r#"[{"n":2}]"#).await.unwrap();
    store.append_items(record.id, ItemKind::Finding, 0, r#"[{"f":0}]"#).await.unwrap();
    assert_eq!(store.count_items(record.id, ItemKind::Vm).await.unwrap(), 3);
    let first = store.items(record.id, ItemKind::Vm, None, 2).await.unwrap();
    assert_eq!(first.items, [r#"{"n":0}"#, r#"{"n":1}"#]);
    let after = first.next.unwrap().parse().unwrap();
    let second = store.items(record.id, ItemKind::Vm, Some(after), 2).await.unwrap();
    assert_eq!(
        (second.items.as_slice(), second.next),
        ([r#"{"n":2}"#.to_owned()].as_slice(), None)
    );
    store.clear_items(record.id).await.unwrap();
    assert_eq!(store.count_items(record.id, ItemKind::Vm).await.unwrap(), 0);
}

async fn a_key_makes_a_request_count_once(store: &dyn Store) {
    let key = IdempotencyKey { key: "k".to_owned(), fingerprint: digest("request") };
    let (first, first_job) = inventory("a");
    let (again, again_job) = inventory("a");
    assert_eq!(store.create_inventory(&first, &first_job, Some(&key)).await.unwrap(), Created::New);
    assert_eq!(
        store.create_inventory(&again, &again_job, Some(&key)).await.unwrap(),
        Created::Before { subject: first.id, job: first_job.id }
    );
    assert_eq!(store.inventory(again.id).await.unwrap(), None);
    let other = IdempotencyKey { fingerprint: digest("other"), ..key };
    assert!(matches!(
        store.create_inventory(&again, &again_job, Some(&other)).await,
        Err(StoreError::KeyReused)
    ));
}

async fn jobs_are_claimed_once_and_oldest_first(store: &dyn Store) {
    let (one, one_job) = inventory("a");
    let (two, two_job) = inventory("b");
    store.create_inventory(&one, &one_job, None).await.unwrap();
    store.create_inventory(&two, &two_job, None).await.unwrap();
    assert_eq!(store.jobs_ahead(two_job.id).await.unwrap(), 1);
    let claimed = store.claim_job().await.unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state, claimed.attempts), (one_job.id, JobState::Running, 1));
    assert_eq!(store.jobs_ahead(two_job.id).await.unwrap(), 0);
    assert_eq!(store.claim_job().await.unwrap().unwrap().id, two_job.id);
    assert_eq!(store.claim_job().await.unwrap(), None);
}

async fn a_job_ends_once(store: &dyn Store) {
    let (record, job) = inventory("a");
    store.create_inventory(&record, &job, None).await.unwrap();
    let problem = StoredProblem {
        code: "file_refused".to_owned(),
        detail: "no".to_owned(),
        errors: vec![Fault::new("vInfo!A1", "far")],
    };
    assert!(store.finish_job(job.id, JobState::Failed, Some(&problem)).await.unwrap());
    assert!(!store.finish_job(job.id, JobState::Done, None).await.unwrap());
    let ended = store.job(job.id).await.unwrap().unwrap();
    assert_eq!((ended.state, ended.problem), (JobState::Failed, Some(problem)));
    assert!(ended.finished.is_some());
    assert_eq!(store.claim_job().await.unwrap(), None);
}

async fn an_interrupted_job_can_be_queued_again(store: &dyn Store) {
    let (record, job) = inventory("a");
    store.create_inventory(&record, &job, None).await.unwrap();
    store.claim_job().await.unwrap();
    let unfinished = store.unfinished_jobs().await.unwrap();
    assert_eq!(unfinished.len(), 1);
    store.requeue_job(job.id).await.unwrap();
    let again = store.claim_job().await.unwrap().unwrap();
    assert_eq!((again.id, again.attempts), (job.id, 2));
}

async fn a_plan_keeps_its_result(store: &dyn Store) {
    let averages = serde_json::json!({ "vms": 400 });
    let (mut record, job) = plan(PlanSource::Averages(averages));
    store.create_plan(&record, &job, None).await.unwrap();
    let artefact = Artefact { format: "html".to_owned(), sha256: digest("report"), bytes: 6 };
    store
        .set_plan_result(record.id, r#"{"answer":"4"}"#, std::slice::from_ref(&artefact))
        .await
        .unwrap();
    record.summary = Some(r#"{"answer":"4"}"#.to_owned());
    record.artefacts = vec![artefact];
    assert_eq!(store.plan(record.id).await.unwrap(), Some(record.clone()));
    assert_eq!(store.plans(None, 10).await.unwrap().items, [record]);
    assert!(store.digests_in_use().await.unwrap().contains(&digest("report")));
}

async fn forgetting_an_inventory_takes_all_that_hangs_on_it(store: &dyn Store) {
    let key = IdempotencyKey { key: "k".to_owned(), fingerprint: digest("request") };
    let (record, job) = inventory("a");
    store.create_inventory(&record, &job, Some(&key)).await.unwrap();
    store.append_items(record.id, ItemKind::Vm, 0, "[{}]").await.unwrap();
    let (planned, plan_job) = plan(PlanSource::Inventory(record.id));
    store.create_plan(&planned, &plan_job, None).await.unwrap();
    assert!(store.delete_inventory(record.id).await.unwrap());
    assert!(!store.delete_inventory(record.id).await.unwrap());
    assert_eq!(store.plan(planned.id).await.unwrap(), None);
    assert_eq!(store.job(job.id).await.unwrap(), None);
    assert_eq!(store.job(plan_job.id).await.unwrap(), None);
    assert_eq!(store.count_items(record.id, ItemKind::Vm).await.unwrap(), 0);
    assert!(store.digests_in_use().await.unwrap().is_empty());
    let (next, next_job) = inventory("b");
    assert_eq!(store.create_inventory(&next, &next_job, Some(&key)).await.unwrap(), Created::New);
}

async fn models_are_kept(store: &dyn Store) {
    let model =
        ModelRecord { id: Uuid::now_v7(), created: Timestamp::now(), card: "{}".to_owned() };
    store.create_model(&model).await.unwrap();
    assert_eq!(store.model(model.id).await.unwrap().as_ref(), Some(&model));
    assert_eq!(store.models().await.unwrap(), [model]);
}
