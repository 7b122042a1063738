// The forms: options and averages, read and checked with the same ranges as the API.

import { count, decimal, el, gib } from "./text.js";

const $ = (id) => document.getElementById(id);
const form = $("options");
let platforms = [];
let prices = [];

/** Fills the choices from the catalogue. */
export function offer(catalog) {
  platforms = catalog.platforms;
  prices = catalog.prices;
  form.platform.replaceChildren(...platforms.map((platform) => el("option", { value: platform.id }, platform.name)));
  form.platform.addEventListener("change", choosePlatform);
  form.region.addEventListener("change", describeRegion);
  choosePlatform();
}

function choosePlatform() {
  const platform = platforms.find((candidate) => candidate.id === form.platform.value);
  if (!platform) return;
  $("o-platform-hint").textContent = `Limits and measurements as of ${platform.date}, each with its source in the report.`;
  const tiers = platform.tiers || [];
  form.tier.replaceChildren(el("option", { value: "" }, "cheapest that fits"),
    ...tiers.map((tier) => el("option", { value: tier.id }, tier.name)));
  form.tier.disabled = tiers.length < 2;
  const regions = [...(tableOf(platform)?.regions || [])].sort((a, b) => a.name.localeCompare(b.name));
  form.region.replaceChildren(...regions.map((row) => el("option", { value: row.region, selected: row.region === "eastus" }, row.name)));
  form.region.closest(".field").hidden = regions.length === 0;
  $("array").hidden = !platform.id.startsWith("generic");
  describeRegion();
}

const tableOf = (platform) => prices.find((candidate) => candidate.id === platform.prices);

function describeRegion() {
  const platform = platforms.find((candidate) => candidate.id === form.platform.value);
  const table = platform && tableOf(platform);
  const row = table?.regions.find((candidate) => candidate.region === form.region.value);
  $("o-region-hint").textContent = row ? `List prices in ${table.currency} as of ${row.date}.` : "";
}

/** Reads a number field; an error names the field and its range. */
function number(input, faults) {
  const text = input.value.trim().replace(/\u00a0/g, "");
  input.removeAttribute("aria-invalid");
  if (text === "" && input.hasAttribute("data-optional")) return undefined;
  // A comma is a decimal sign in half of the world; thousands are not written here.
  const value = Number(text.replace(",", "."));
  const min = Number(input.dataset.min);
  const max = Number(input.dataset.max);
  const fits = text !== "" && Number.isFinite(value) && value >= min && value <= max
    && (!input.hasAttribute("data-whole") || Number.isInteger(value));
  if (fits) return value;
  input.setAttribute("aria-invalid", "true");
  const label = input.getAttribute("aria-label") || input.labels?.[0]?.textContent || input.name;
  const kind = input.hasAttribute("data-whole") ? "a whole number" : "a number";
  faults.push({ input, text: `${label}: ${kind} from ${decimal(min)} to ${decimal(max)} is expected.` });
  return undefined;
}

function report(faults, where) {
  where.hidden = faults.length === 0;
  where.textContent = faults.map((fault) => fault.text).join(" ");
  faults[0]?.input.focus();
  return faults.length === 0;
}

/** The options as the API takes them; `null` when a field does not fit. */
export function read() {
  const faults = [];
  const demand = {};
  const plan = { platform: form.platform.value };
  if (!form.region.closest(".field").hidden && form.region.value) plan.region = form.region.value;
  if (form.tier.value) plan.tier = form.tier.value;
  for (const name of ["load_growth_pct_per_year", "capacity_growth_pct_per_year", "horizon_months"]) {
    demand[name] = number(form[name], faults);
  }
  if (form.rules_toml.value.trim()) demand.rules_toml = form.rules_toml.value;
  for (const name of ["headroom_pct", "hosts"]) plan[name] = number(form[name], faults);
  plan.hosts_lost = Number(form.hosts_lost.value);
  plan.certainty_pct = Number(form.certainty_pct.value);
  if (!$("array").hidden) {
    plan.array = {};
    for (const input of $("array").querySelectorAll("input")) plan.array[input.name] = number(input, faults);
  }
  return report(faults, $("options-wrong")) ? { demand, plan } : null;
}

/** The averages as the API takes them; `null` when a field does not fit. */
export function readAverages() {
  const faults = [];
  const averages = {};
  for (const input of $("averages").querySelectorAll("input")) averages[input.name] = number(input, faults);
  return report(faults, $("averages-wrong")) ? averages : null;
}

/** Shows what the averages add up to. */
export function sumAverages() {
  const faults = [];
  const value = {};
  for (const input of $("averages").querySelectorAll("input")) value[input.name] = number(input, faults);
  const sum = $("averages-sum");
  if (faults.length > 0) {
    sum.replaceChildren();
    return;
  }
  const parts = [el("b", {}, gib(value.vm_count * value.storage_gib_per_vm))];
  if (value.iops_per_vm !== undefined) parts.push(", ", el("b", {}, `${count(value.vm_count * value.iops_per_vm)} IOPS`));
  if (value.mibps_per_vm !== undefined) parts.push(" and ", el("b", {}, `${count(value.vm_count * value.mibps_per_vm)} MiB/s`));
  sum.replaceChildren("Together at most ", ...parts, ". ", el("span", { class: "grade d" }, "D"), el("span", { class: "quiet" }, " assumed"));
}
