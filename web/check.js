// What was read: counts, the decisions left to the person, every problem with its place.

import { count, el, mib, of, severity } from "./text.js";

const $ = (id) => document.getElementById(id);
const SHOWN = 200;
const WEIGHT = { error: 0, warning: 1, note: 2 };

/** Draws the state; answers with a function that gives the decisions as options. */
export function draw(inventory, problems) {
  const { summary } = inventory;
  const { totals, problems: counts } = summary;
  $("check-files").textContent = inventory.files.map((file) => file.name).join(", ");
  const decisions = decide(summary);
  $("h-check").textContent = decisions.count > 0
    ? `Read, with ${of(decisions.count, "decision")} left to you`
    : counts.total > 0 ? `Read, with ${of(counts.total, "remark")}` : "Read, and nothing to remark";
  const tally = [
    [totals.vms_in_file, "machines in the files"],
    [totals.vms_counted, "machines that carry load"],
    [totals.datastores, "datastores"],
    [counts.errors, "values or rows left out"],
    [counts.warnings, "to take care of"],
  ];
  $("check-tally").replaceChildren(...tally.map(([value, words]) => el("li", {}, el("b", {}, count(value)), words)));
  $("check-problems").replaceChildren(...table(problems, counts, inventory.files.length > 1));
  $("check-xlsx").hidden = counts.total === 0;
  const quality = summary.quality.filter((item) => !item.ok);
  $("check-quality").replaceChildren(...(quality.length === 0 ? [] : [
    el("h3", {}, "Sheets that disagree"),
    ...quality.map((item) => el("p", {}, `${item.what}: ${item.result}`)),
  ]));
  return decisions.read;
}

function decide(summary) {
  const form = $("decide");
  const parts = [];
  const off = summary.population.find((step) => step.reason === "powered_off");
  if (off) {
    parts.push(el("fieldset", {},
      el("legend", {}, `${of(off.vms, "machine")} ${off.vms === 1 ? "is" : "are"} powered off. Will they run?`),
      el("p", { class: "quiet small" }, `Their ${mib(off.used_mib)} count for space in both cases.`),
      el("div", { class: "choices" },
        choice("powered_off", "no", true, "No, they stay off", "space only, no load"),
        choice("powered_off", "yes", false, "Yes, count them as running", "space and load"))));
  }
  form.replaceChildren(...parts);
  form.hidden = parts.length === 0;
  return {
    count: parts.length,
    read: () => ({ include_powered_off: new FormData(form).get("powered_off") === "yes" }),
  };
}

function choice(name, value, checked, title, consequence) {
  return el("label", { class: "choice" }, el("input", { type: "radio", name, value, checked }), el("b", {}, title), el("span", {}, consequence));
}

function table(problems, counts, namesFiles) {
  if (problems.length === 0) return [];
  const rows = [...problems].sort((a, b) => WEIGHT[a.severity] - WEIGHT[b.severity]).slice(0, SHOWN);
  const caption = counts.total > rows.length
    ? `${count(rows.length)} of ${of(counts.total, "problem")}, weightiest first; the workbook has them all`
    : "Every problem, with its place in the file";
  const heads = ["Weight", "Where", "Found", "Expected", "What was done"];
  return [el("table", { class: "stack", role: "table" },
    el("caption", {}, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((head) => el("th", { role: "columnheader", scope: "col" }, head)))),
    el("tbody", { role: "rowgroup" }, rows.map((problem) => row(problem, namesFiles))))];
}

function row(problem, namesFile) {
  const cell = (label, ...children) => el("td", { role: "cell", "data-l": label }, ...children);
  const place = [
    namesFile || !problem.tab ? problem.file : null, problem.tab,
    problem.row ? `row ${problem.row}` : null, problem.column,
  ].filter(Boolean).join(", ");
  return el("tr", { role: "row" },
    el("td", { role: "cell" }, severity(problem.severity)),
    cell("at", el("code", {}, place)),
    cell("found", problem.value || "–"),
    cell("expected", problem.expected),
    cell("done", problem.action));
}
