//! The flow budget: which connections exist, which are shared, which settings to change.

use plimsoll_plan::FlowBudget;

use super::Context;
use crate::document::{Block, Cell, Column, Equation, Note, Section, Table, Text};
use crate::figure::{Chart, Figure, SlotAddress, SlotRow, Slots};
use crate::number;
use crate::words;

/// Hosts drawn one by one; more would only repeat the same row.
const HOSTS_DRAWN: usize = 6;
/// Addresses drawn one by one.
const ADDRESSES_DRAWN: usize = 8;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let budget = &context.input.plan.flow_budget;
    let mut blocks = vec![Block::Equation(equation(context, budget))];
    if !budget.datastores_per_ip.is_empty() {
        blocks.push(Block::Figure(Box::new(figure(context, budget))));
    }
    if !budget.settings.is_empty() {
        blocks.push(Block::Heading("Settings per host".to_owned()));
        blocks.push(Block::Table(settings(budget)));
    }
    Section {
        id: "flows",
        topic: "Flow budget".to_owned(),
        finding: finding(budget),
        lead: Vec::new(),
        blocks,
        notes: vec![Note {
            heading: "Beware of one address".to_owned(),
            text: Text::default()
                .plain(
                    "One datastore on one host is one TCP connection, a flow. With more \
                     datastores behind one address than ",
                )
                .code("SunRPC.MaxConnPerIP")
                .plain(" allows, mounts share a connection: the mounts grow, the flows do not."),
        }],
    }
}

fn finding(budget: &FlowBudget) -> String {
    // Settings of ESXi have a point in their name; other rows only count what is in use.
    let settable = |name: &str| name.contains('.') || name.eq_ignore_ascii_case("nConnect");
    let changes = budget
        .settings
        .iter()
        .filter(|setting| settable(&setting.name) && setting.default != setting.plan)
        .count();
    let flows = words::sentence(&words::counted(budget.flows.into(), "flow", "flows"));
    let shared = if budget.shared { "some mounts share one" } else { "none of them shared" };
    let settings = match changes {
        0 => "No host setting has to change.".to_owned(),
        1 => "One host setting has to change.".to_owned(),
        many => {
            format!("{} host settings have to change.", words::sentence(&words::count(many as u64)),)
        }
    };
    format!("{flows}, {shared}. {settings}")
}

fn equation(context: &Context<'_>, budget: &FlowBudget) -> Equation {
    let per_ip = budget.datastores_per_ip.iter().max().copied().unwrap_or(0);
    let even = budget.datastores_per_ip.iter().all(|count| *count == per_ip);
    let mut factors = vec![(budget.hosts.to_string(), "hosts".to_owned())];
    if even {
        factors.push((budget.target_ips.to_string(), "target addresses".to_owned()));
        factors.push((
            format!("min({per_ip}, {})", budget.max_connections_per_ip),
            "datastores per address, connections allowed".to_owned(),
        ));
    } else {
        let used: u32 = budget
            .datastores_per_ip
            .iter()
            .map(|count| (*count).min(budget.max_connections_per_ip))
            .sum();
        factors.push((
            used.to_string(),
            format!(
                "connections over {} target addresses, at most {} each",
                budget.target_ips, budget.max_connections_per_ip,
            ),
        ));
    }
    factors.push((budget.nconnect.to_string(), "nConnect".to_owned()));
    let with_failure = match context.input.plan.options.hosts_lost {
        0 => "flows".to_owned(),
        _ => format!("flows, {} with {}", budget.flows_with_failure, context.failure_short()),
    };
    Equation { factors, result: (budget.flows.to_string(), with_failure) }
}

fn figure(context: &Context<'_>, budget: &FlowBudget) -> Figure {
    let plan = context.input.plan;
    let lost = plan.options.hosts_lost.min(budget.hosts);
    let hosts = budget.hosts as usize;
    let names = host_names(context, hosts);
    let capacity = budget.max_connections_per_ip as usize * budget.datastores_per_ip.len();
    let in_use: u32 = budget
        .datastores_per_ip
        .iter()
        .map(|count| (*count).min(budget.max_connections_per_ip))
        .sum();
    let lost_drawn = (lost as usize).min(2).min(hosts);
    let well_drawn = (hosts - lost as usize).min(HOSTS_DRAWN.saturating_sub(lost_drawn));
    let row = |index: usize, lost: bool| SlotRow {
        name: names.get(index).cloned().unwrap_or_else(|| format!("host {}", index + 1)),
        lost,
        note: if lost {
            "counted as lost in the test".to_owned()
        } else if index == 0 {
            format!("{in_use} of {capacity} connections")
        } else {
            format!("{in_use} of {capacity}")
        },
    };
    let mut rows: Vec<_> = (0..well_drawn).map(|index| row(index, false)).collect();
    rows.extend((hosts - lost_drawn..hosts).map(|index| row(index, true)));
    let mut next = 0;
    let mut addresses: Vec<SlotAddress> = Vec::new();
    for (index, count) in budget.datastores_per_ip.iter().enumerate() {
        let used = (*count).min(budget.max_connections_per_ip);
        let first = next + 1;
        next += count;
        let labels = (0..used).map(|offset| format!("{:02}", first + offset)).collect();
        addresses.push(SlotAddress {
            name: format!("address {}", index + 1),
            note: match count {
                0 => "no datastore".to_owned(),
                1 => format!("datastore {first:02}"),
                _ => format!("datastores {first:02} to {next:02}"),
            },
            used: labels,
            free: budget.max_connections_per_ip - used,
        });
    }
    let mut rest = Vec::new();
    if rows.len() < hosts {
        rest.push(format!(
            "{} like them",
            words::counted((hosts - rows.len()) as u64, "more host is", "more hosts are"),
        ));
    }
    if addresses.len() > ADDRESSES_DRAWN {
        rest.push(format!(
            "{} like them",
            words::counted(
                (addresses.len() - ADDRESSES_DRAWN) as u64,
                "more address is",
                "more addresses are",
            ),
        ));
    }
    let twin = twin(context, budget);
    addresses.truncate(ADDRESSES_DRAWN);
    Figure {
        number: 0,
        caption: "TCP connections per host and target address. Filled: in use, with the \
                  datastore’s number. Open: free before mounts begin to share. Hatched: lost in \
                  the failure test."
            .to_owned(),
        title: "Connections in use per host and target address".to_owned(),
        description: format!(
            "{} hosts, {} target addresses, {} connections each. {in_use} of {capacity} are in use \
             on each host; {}. {} counted as lost in the test.",
            budget.hosts,
            budget.target_ips,
            budget.max_connections_per_ip,
            if budget.shared { "some mounts share a connection" } else { "no mount shares one" },
            words::sentence(&words::counted(lost.into(), "host is", "hosts are")),
        ),
        key: Vec::new(),
        chart: Chart::Slots(Slots { rows, addresses, rest: rest.join("; ") }),
        twin,
    }
}

fn host_names(context: &Context<'_>, hosts: usize) -> Vec<String> {
    let inventory = &context.input.inventory.hosts;
    // Planned hosts are those of the inventory only when their number is the same.
    if inventory.len() != hosts {
        return Vec::new();
    }
    inventory
        .iter()
        .map(|host| {
            let name = host.name.split('.').next().unwrap_or(&host.name);
            words::foreign(name, 12)
        })
        .collect()
}

fn twin(context: &Context<'_>, budget: &FlowBudget) -> Table {
    let lost = context.input.plan.options.hosts_lost;
    let mut table = Table::dense(
        "Connections in use of those allowed before mounts share, on every host.",
        vec![
            Column::name("Address"),
            Column::number("Datastores"),
            Column::number("Connections in use"),
            Column::number("Allowed"),
            Column::number("Flows of one host"),
            Column::number("Flows of all hosts"),
            Column::number("In the failure test"),
        ],
    );
    for (index, count) in budget.datastores_per_ip.iter().enumerate() {
        let used = (*count).min(budget.max_connections_per_ip);
        let flows = used * budget.nconnect;
        table.row(vec![
            format!("address {}", index + 1).into(),
            count.to_string().into(),
            used.to_string().into(),
            budget.max_connections_per_ip.to_string().into(),
            flows.to_string().into(),
            number::count(u64::from(flows) * u64::from(budget.hosts)).into(),
            number::count(u64::from(flows) * u64::from(budget.hosts.saturating_sub(lost))).into(),
        ]);
    }
    table.row(vec![
        Cell::Strong("All".to_owned()),
        budget.datastores_per_ip.iter().sum::<u32>().to_string().into(),
        String::new().into(),
        String::new().into(),
        number::count(budget.flows_per_host.into()).into(),
        number::count(budget.flows.into()).into(),
        number::count(budget.flows_with_failure.into()).into(),
    ]);
    table
}

fn settings(budget: &FlowBudget) -> Table {
    let mut table = Table::key(
        "",
        vec![
            Column::name("Setting"),
            Column::number("default"),
            Column::main("plan"),
            Column::line("Why"),
        ],
    );
    for setting in &budget.settings {
        let plan = if setting.plan == setting.default {
            Cell::from(setting.plan.clone())
        } else {
            Cell::Strong(setting.plan.clone())
        };
        table.row(vec![
            Text::default().code(setting.name.clone()).into(),
            setting.default.clone().into(),
            plan,
            Text::quoted(&setting.why).into(),
        ]);
    }
    table
}
