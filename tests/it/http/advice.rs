//! Advice on iSER through the API.

use super::{TestApp, form, sample};
use axum::http::StatusCode;
use serde_json::json;

const PATH: &str = "/api/v1/advice/iser";

#[tokio::test]
async fn hosts_of_a_file_are_judged_in_every_format() {
    let app = TestApp::new().await;
    let files = [("sample.xlsx", sample())];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &**bytes)).collect();
    let answer = app.send(form(PATH, &files, None)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let advice = answer.json();
    let grouped: usize = advice["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["hosts"].as_array().unwrap().len())
        .sum();
    assert!(grouped > 0);
    assert_eq!(advice["hosts"], grouped);
    for (format, kind) in [("md", "text/markdown"), ("text", "text/plain")] {
        let answer = app.send(form(&format!("{PATH}?format={format}"), &files, None)).await;
        assert!(answer.header("content-type").starts_with(kind));
        assert!(answer.text().contains("contradict"), "{}", answer.text());
    }
}

#[tokio::test]
async fn hosts_may_come_as_facts_with_what_the_steps_are_to_hold() {
    let app = TestApp::new().await;
    let options = json!({
        "hosts": [
            {"name": "esx-1", "esxi": "7.0.3", "nics": [{"adapter": "nmlx5_core", "device": "vmnic4"}]},
            {"name": "esx-2", "esxi": "8.0.2", "nics": [{"adapter": "ixgben"}]},
        ],
        "portal": "10.10.1.2",
        "vmkernel": "vmk3",
    });
    let advice = app.send(form(PATH, &[], Some(&options))).await.json();
    assert_eq!(advice["groups"][0]["verdict"], "ready");
    assert_eq!(advice["groups"][1]["verdict"], "cannot");
    assert_eq!(advice["groups"][1]["hosts"], json!(["esx-2"]));
    assert!(advice.to_string().contains("vmkping -I vmk3 -d -s 8972 10.10.1.2"));
}

#[tokio::test]
async fn what_could_not_stand_in_a_command_is_refused() {
    let app = TestApp::new().await;
    let host = json!({"name": "a", "esxi": "7.0.3", "nics": [{"adapter": "nmlx5_core"}]});
    for (member, value) in [
        ("vswitch", "x; reboot"),
        ("portal", "nas.example"),
        ("address", "10.0.0"),
        ("nonsense", "1"),
    ] {
        let options = json!({"hosts": [host], member: value});
        app.send(form(PATH, &[], Some(&options))).await.problem(422);
    }
    // Neither files nor hosts, and both.
    assert_eq!(app.send(form(PATH, &[], Some(&json!({})))).await.problem(422), "files_or_hosts");
    let both = form(PATH, &[("a.xlsx", &b"x"[..])], Some(&json!({"hosts": [host]})));
    assert_eq!(app.send(both).await.problem(422), "files_or_hosts");
    app.send(form(PATH, &[("a.txt", &b"shopping list"[..])], None)).await.problem(422);
}
