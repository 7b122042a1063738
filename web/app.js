// The start page: one state at a time, each with an address of its own.
//
//   /                   start
//   /?inventory=ID      being read, or read: check
//   /?plan=ID           being made, or made: report

import { Refused, Stopped, follow, get, onTokenNeeded, post, remove, signIn, upload } from "./api.js";
import * as check from "./check.js";
import * as options from "./options.js";
import { bar, bytes, count, date, decimal, el, fill, gib, money, of, seconds, severity, share, svg } from "./text.js";

const $ = (id) => document.getElementById(id);
const STATES = ["start", "options", "upload", "run", "check", "done", "refused", "token", "gone"];
const STEP = { start: "start", upload: "start", check: "check", options: "plan", done: "report" };

let limitMib = 256;
/** The inventory or plan that the page shows. */
let inventory = null;
let plan = null;
let decisions = () => ({});
/** Counts the states shown: an answer that comes late must not change a newer state. */
let turn = 0;

function show(name, step = STEP[name]) {
  turn += 1;
  for (const state of STATES) $(`state-${state}`).hidden = state !== name;
  for (const item of document.querySelectorAll("#steps [data-step]")) {
    if (item.dataset.step === step) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
  const heading = $(`state-${name}`).querySelector("h1");
  document.title = name === "start" ? "Plimsoll" : `${heading.textContent} · Plimsoll`;
  if (name !== "start") {
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }
  return turn;
}

function address(query) {
  if (location.search !== query) history.pushState(null, "", query || "/");
}

/** Runs a flow; what it throws becomes a state. */
function flow(action) {
  return async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      if (error instanceof Stopped) goStart();
      else refuse(error instanceof Refused ? error.problem : { title: "this page failed", status: 0, code: "page", detail: String(error), errors: [] });
    }
  };
}

// --- start ---

function showStart() {
  $("options-home").append($("options"));
  $("again-row").hidden = true;
  show("start");
}

function goStart() {
  address("");
  showStart();
}

const takeFiles = flow(async (files, { straight = false } = {}) => {
  const list = [...files];
  if (list.length === 0) return;
  const total = list.reduce((sum, file) => sum + file.size, 0);
  if (total > limitMib * 1048576) {
    refuse({
      title: "too large", status: 413, code: "too_large", errors: [],
      detail: `${bytes(total)} were chosen; ${count(limitMib)} MiB is the limit here. Nothing was sent. Send the sheets vInfo, vDisk, vDatastore and vHost alone, or ask for a higher limit (http.upload_limit_mib).`,
    });
    return;
  }
  const stop = new AbortController();
  $("upload-cancel").onclick = () => stop.abort();
  $("h-upload").textContent = list.length === 1 ? "Sending 1 file" : `Sending ${count(list.length)} files`;
  $("upload-name").textContent = list.length === 1 ? list[0].name : `${list[0].name} and ${count(list.length - 1)} more`;
  $("upload-list").replaceChildren(...(list.length === 1 ? [] : list.slice(0, 40).map((file) => el("li", {}, `${file.name}, ${bytes(file.size)}`))));
  const began = performance.now();
  const progress = (sent, whole) => {
    const passed = (performance.now() - began) / 1000;
    const rate = sent / Math.max(passed, 0.001);
    fill($("upload-bar"), share(sent, whole));
    $("upload-count").textContent = `${bytes(sent)} of ${bytes(whole)}, ${share(sent, whole)}%`;
    $("upload-rate").textContent = sent < whole
      ? `${bytes(rate)}/s, about ${seconds((whole - sent) / rate)} left`
      : "Received; the service writes it to disk";
  };
  progress(0, total);
  show("upload");
  const made = await upload(list, progress, stop.signal);
  inventory = made;
  address(`?inventory=${made.id}`);
  await readInventory(made.id, straight);
});

const trySample = flow(async () => {
  const response = await fetch("/sample.xlsx");
  if (!response.ok) throw new Refused(await response.json());
  const file = new File([await response.blob()], "plimsoll-sample.xlsx");
  await takeFiles([file], { straight: true });
});

const sizeAverages = flow(async () => {
  const averages = options.readAverages();
  const chosen = options.read();
  if (!averages || !chosen) return;
  await makePlan({ averages, options: chosen });
});

// --- a job ---

const STAGES = {
  reading: "Read sheets", joining: "Check and join", estimating: "Estimate the load", planning: "Compare plans", rendering: "Write the report",
};
const KINDS = { ingest: ["reading", "joining"], plan: ["reading", "joining", "estimating", "planning", "rendering"] };
const MARKS = {
  done: [["path", { d: "M2 7.5l3.5 3.5L12 3.5" }]],
  running: [["path", { d: "M3.5 2l8 5-8 5z", class: "acf", stroke: "none" }]],
  waiting: [["circle", { cx: "7", cy: "7", r: "4.5" }]],
};
const mark = (state) => svg({ class: "st", viewBox: "0 0 14 14", role: "img", "aria-label": state }, MARKS[state]);

async function runJob(job, kind, mine) {
  const order = KINDS[kind];
  const began = {};
  $("run-cancel").onclick = flow(async () => {
    try {
      await remove(`/api/v1/jobs/${job.id}`);
    } catch (error) {
      // It may have ended in the meantime: then its end is shown.
      if (error.problem?.code !== "job_ended") throw error;
    }
  });
  let said = "";
  const draw = (news) => {
    if (mine !== turn) return;
    const stage = news.progress?.stage;
    const at = order.indexOf(stage);
    const now = performance.now();
    if (stage && began[stage] === undefined) began[stage] = now;
    const title = news.state === "queued"
      ? (news.ahead > 0 ? `Waiting: ${of(news.ahead, "job")} ahead` : "Waiting for a free slot")
      : kind === "ingest" ? "Reading" : "Planning";
    const detail = news.progress ? progressText(news.progress) : "";
    $("h-run").textContent = title;
    $("run-stages").replaceChildren(...order.map((name, index) => {
      const state = index < at ? "done" : index === at ? "running" : "waiting";
      const next = order[index + 1];
      const time = state === "done" && began[name] !== undefined && began[next] !== undefined
        ? seconds((began[next] - began[name]) / 1000)
        : state === "running" ? `${seconds((now - began[name]) / 1000)} so far` : "";
      const item = el("li", {}, mark(state),
        el("span", { class: state === "running" ? "now" : state === "waiting" ? "todo" : "" }, STAGES[name]),
        el("span", {}, state === "running" ? detail : ""), el("small", {}, time));
      if (state === "running" && news.progress.total) {
        const drawn = bar(STAGES[name]);
        fill(drawn, share(news.progress.done, news.progress.total));
        item.append(drawn);
      }
      return item;
    }));
    const words = stage ? `${title}: ${STAGES[stage]}` : title;
    if (words !== said) {
      said = words;
      $("run-live").textContent = words;
    }
  };
  draw(job);
  return follow(job.id, draw);
}

function progressText({ done, total, unit, rate_per_second: rate, seconds_left: left }) {
  const size = unit === "bytes" ? bytes : count;
  if (!total) return done > 0 ? `${size(done)} ${unit === "bytes" ? "" : unit}` : "";
  const parts = [`${size(done)} of ${size(total)}${unit === "bytes" ? "" : ` ${unit}`}, ${share(done, total)}%`];
  if (rate && unit === "bytes") parts.push(`${bytes(rate)}/s`);
  if (left && left > 0.5) parts.push(`about ${seconds(left)} left`);
  return parts.join("; ");
}

/** Goes on when a job is done; shows why when it is not. */
function ended(job, what) {
  if (job.state === "failed") {
    refuse(job.problem);
    return false;
  }
  if (job.state === "cancelled") {
    $("h-gone").textContent = "Cancelled";
    $("gone-text").textContent = `The ${what} was stopped before it was done. The files stay here until they are deleted.`;
    show("gone", "start");
    return false;
  }
  return true;
}

// --- check ---

async function readInventory(id, straight) {
  $("run-step").textContent = "Step 2 of 3";
  const mine = show("run", "check");
  inventory = await get(`/api/v1/inventories/${id}`);
  const job = await runJob(inventory.job, "ingest", mine);
  if (mine !== turn || !ended(job, "reading")) return;
  inventory = await get(`/api/v1/inventories/${id}`);
  if (straight) {
    decisions = () => ({});
    const chosen = options.read() || {};
    await makePlan({ inventory_id: id, options: chosen });
  } else {
    await showCheck();
  }
}

async function showCheck() {
  const id = inventory.id;
  const problems = inventory.summary.problems.total > 0
    ? (await get(`/api/v1/inventories/${id}/problems?limit=1000`)).items : [];
  decisions = check.draw(inventory, problems);
  $("check-xlsx").href = `/api/v1/inventories/${id}/problems?format=xlsx`;
  address(`?inventory=${id}`);
  show("check");
}

const goOn = flow(async () => {
  const chosen = options.read();
  if (!chosen) return changeOptions();
  Object.assign(chosen.demand, decisions());
  await makePlan({ inventory_id: inventory.id, options: chosen });
});

// --- plan ---

async function makePlan(request) {
  plan = await post("/api/v1/plans", request);
  address(`?plan=${plan.id}`);
  await followPlan(plan);
}

async function followPlan(asked) {
  plan = asked;
  $("run-step").textContent = "Step 3 of 3";
  const mine = show("run", "plan");
  const began = performance.now();
  const job = await runJob(asked.job, "plan", mine);
  if (mine !== turn || !ended(job, "planning")) return;
  plan = await get(`/api/v1/plans/${asked.id}`);
  showDone((performance.now() - began) / 1000);
}

function showDone(waited) {
  const { summary } = plan;
  $("done-kicker").textContent = summary.feasible ? `${summary.platform_name}, ${date(plan.created)}` : "No plan carries this; the nearest one follows";
  $("h-done").textContent = summary.answer;
  const facts = [
    summary.monthly_cost ? `${money(summary.monthly_cost)} a month` : "no price in the catalogue",
    `${sureness(summary.certainty)} sure`,
    `first limit: ${LIMITS[summary.binding_resource] || summary.binding_resource}`,
  ];
  if (waited !== undefined) facts.push(`answer in ${seconds(waited)}`);
  $("done-facts").replaceChildren(`${facts.join(", ")}. Evidence `, el("span", { class: `grade ${summary.grade.toLowerCase()}` }, summary.grade), ` ${GRADES[summary.grade] || ""}`);
  const why = [...summary.infeasible_because];
  if (summary.unplaced > 0) why.push(`${of(summary.unplaced, "machine")} could not be placed; the report says why and what to do.`);
  $("done-why").hidden = why.length === 0;
  $("done-why").replaceChildren(...why.map((reason) => el("li", {}, severity("error", summary.feasible ? "Incomplete" : "No plan"), ` ${reason}`)));
  $("done-open").href = link("html");
  const names = { xlsx: "Workbook", md: "Markdown", csv: "CSV", json: "JSON" };
  $("done-formats").replaceChildren(...plan.reports.filter((report) => names[report.format])
    .map((report) => el("a", { href: link(report.format), download: `plimsoll-report.${report.format}` }, `${names[report.format]}, ${bytes(report.bytes)}`)));
  $("done-check").hidden = $("done-delete").hidden = !plan.inventory_id;
  $("done-note").textContent = "";
  show("done");
}

const GRADES = { A: "measured here", B: "measured on the same class", C: "published", D: "assumed" };
const LIMITS = { tier: "the tier\u2019s cap", vm: "one machine", concurrency: "outstanding I/O", flow: "flow", host: "host", volume: "volume", pool: "pool", gateway: "gateway" };
const link = (format) => `/api/v1/plans/${plan.id}/report?format=${format}`;

/** Certainty is rounded down, and never said to be 100%. */
const sureness = (value) => value >= 0.995 ? "over 99%" : value < 0.01 ? "<1%" : `${decimal(Math.floor(value * 100))}%`;

function changeOptions() {
  $("options-guest").append($("options"));
  $("again-row").hidden = false;
  show("options");
}

const planAgain = flow(async () => {
  const chosen = options.read();
  if (!chosen) return;
  if (plan?.inventory_id || inventory) {
    Object.assign(chosen.demand, decisions());
    await makePlan({ inventory_id: plan?.inventory_id || inventory.id, options: chosen });
  } else {
    const averages = options.readAverages();
    if (averages) await makePlan({ averages, options: chosen });
  }
});

const forget = (id) => flow(async () => {
  await remove(`/api/v1/inventories/${id()}`);
  address("");
  $("h-gone").textContent = "Deleted";
  $("gone-text").textContent = "The files, what was read from them, and every plan and report made of them are gone from this service.";
  show("gone", "start");
})();

// --- refused ---

function refuse(problem) {
  const fault = problem.errors?.[0];
  const isFile = problem.code?.startsWith("file_");
  $("h-refused").textContent = isFile || problem.status === 413 ? "This was not read" : problem.status === 404 ? "This is not here" : "This did not work";
  const what = (isFile && fault?.message) || problem.detail || problem.title;
  $("refused-what").textContent = what.charAt(0).toUpperCase() + what.slice(1);
  const rows = [];
  if (fault) {
    if (isFile && fault.at) rows.push(["File", fault.at]);
    else for (const each of problem.errors) if (each.at) rows.push(["Where", `${each.at}: ${each.message}`]);
    if (fault.expected) rows.push(["Expected", fault.expected]);
    if (fault.action) rows.push(["Try", fault.action]);
  }
  if (isFile && inventory) {
    rows.push(["Kept", el("button", { type: "button", class: "link", onclick: () => forget(() => inventory.id) }, "Delete these files now")]);
  }
  $("refused-list").replaceChildren(...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  $("refused-json").textContent = JSON.stringify(problem, null, 2);
  show("refused", "start");
}

// --- token ---

function askForToken() {
  const before = STATES.find((state) => !$(`state-${state}`).hidden);
  show("token", "start");
  return new Promise((resolve) => {
    $("token-form").onsubmit = async (event) => {
      event.preventDefault();
      const works = await signIn($("token").value.trim()).catch(() => false);
      $("token-wrong").hidden = works;
      $("token-wrong").textContent = "The service does not know this token.";
      if (works) {
        $("token").value = "";
        show(before);
        resolve();
      }
    };
  });
}

// --- set up ---

const open = flow(async () => {
  const query = new URLSearchParams(location.search);
  if (query.has("plan")) {
    const found = await get(`/api/v1/plans/${encodeURIComponent(query.get("plan"))}`);
    plan = found;
    inventory = null;
    if (found.job.state === "done") showDone();
    else await followPlan(found);
  } else if (query.has("inventory")) {
    await readInventory(encodeURIComponent(query.get("inventory")), false);
  } else {
    showStart();
  }
});

const earlier = async () => {
  const { items } = await get("/api/v1/plans?limit=5");
  const done = items.filter((item) => item.summary);
  $("earlier").hidden = done.length === 0;
  $("earlier-list").replaceChildren(...done.map((item) => el("li", {}, el("a", { href: `/?plan=${item.id}` }, date(item.created)), el("br"),
    `${count(item.summary.datastores)} × ${gib(item.summary.datastore_size_gib)}${item.summary.tier_name ? `, ${item.summary.tier_name}` : ""}`)));
};

function setUp() {
  onTokenNeeded(askForToken);
  $("origin").textContent = location.origin;
  const drop = $("drop");
  const title = $("drop-title").textContent;
  let inside = 0;
  const over = (is) => {
    drop.classList.toggle("over", is);
    $("drop-title").textContent = is ? "Let go to send" : title;
  };
  addEventListener("dragenter", (event) => { event.preventDefault(); inside += 1; over(true); });
  addEventListener("dragleave", () => { inside -= 1; if (inside <= 0) over(false); });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    inside = 0;
    over(false);
    if (!$("state-start").hidden && event.dataTransfer) takeFiles(event.dataTransfer.files);
  });
  $("files").addEventListener("change", (event) => {
    takeFiles([...event.target.files]);
    event.target.value = "";
  });
  $("try-sample").addEventListener("click", trySample);
  $("rules-show").addEventListener("click", async () => {
    const response = await fetch("/api/v1/rules");
    if (response.ok) $("o-rules").value = await response.text();
  });
  $("averages").addEventListener("input", options.sumAverages);
  $("averages").addEventListener("submit", (event) => { event.preventDefault(); plan = inventory = null; sizeAverages(); });
  $("options").addEventListener("submit", (event) => { event.preventDefault(); if (!$("again-row").hidden) planAgain(); });
  $("again-back").addEventListener("click", (event) => { event.preventDefault(); if (plan?.summary) showDone(); else if (inventory?.summary) show("check"); });
  $("check-go").addEventListener("click", goOn);
  $("check-delete").addEventListener("click", () => forget(() => inventory.id));
  $("done-options").addEventListener("click", changeOptions);
  $("done-delete").addEventListener("click", () => forget(() => plan.inventory_id));
  $("done-check").addEventListener("click", flow(async () => {
    inventory = await get(`/api/v1/inventories/${plan.inventory_id}`);
    await showCheck();
  }));
  $("done-copy").addEventListener("click", async () => {
    const text = location.href;
    try {
      await navigator.clipboard.writeText(text);
      $("done-note").textContent = "Copied.";
    } catch {
      $("done-note").textContent = text;
    }
  });
  addEventListener("popstate", open);
  options.sumAverages();
}

setUp();
flow(async () => {
  const version = await get("/version");
  limitMib = version.upload_limit_mib;
  $("limit-text").textContent = `${count(limitMib)}\u00a0MiB`;
  $("version").textContent = `Version ${version.version}`;
  options.offer(await get("/api/v1/catalog"));
  await open();
  earlier().catch(() => {});
})();
