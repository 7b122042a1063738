//! `POST /api/v1/advice/iser`: which hosts can do iSER, and what to type.

use std::net::Ipv4Addr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use plimsoll_advise::iser;
use plimsoll_ingest::Input;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::http::App;
use crate::http::extract::{Query, json};
use crate::http::negotiate::choose;
use crate::http::problem::Problem;
use crate::http::upload::{files, receive};

/// Hosts that come in a request without files.
const MOST_HOSTS: usize = 1000;
/// Adapters of a host.
const MOST_NICS: usize = 64;
/// Characters of the name of a host or of an adapter's model.
const NAME_CHARACTERS: usize = 200;
/// Characters of a version or of a device's name.
const WORD_CHARACTERS: usize = 64;

/// Which format.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FormatQuery {
    /// Format of the advice; goes before the header Accept.
    #[param(inline)]
    pub format: Option<AdviceFormat>,
}

/// A format of advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AdviceFormat {
    /// Everything as data.
    Json,
    /// Markdown.
    Md,
    /// Plain text.
    Text,
}

/// What is offered, in the order of preference when the caller has none.
const OFFERED: [(AdviceFormat, &str); 3] = [
    (AdviceFormat::Json, "application/json"),
    (AdviceFormat::Md, "text/markdown"),
    (AdviceFormat::Text, "text/plain"),
];

/// Files, or facts in the options.
#[derive(ToSchema, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the form; the parts are read as they come")]
pub struct IserForm {
    /// Exports with the tabs vHost, vNIC, vHBA, vSC_VMK. May be left out when the options hold hosts.
    #[serde(default)]
    #[schema(schema_with = files)]
    file: Vec<String>,
    /// Options as JSON.
    options: Option<IserOptionsBody>,
}

/// Hosts, and what the steps are to hold.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IserOptionsBody {
    /// Hosts, in place of files.
    #[serde(default, deserialize_with = "crate::http::extract::objects")]
    #[schema(max_items = 1000)]
    hosts: Vec<HostBody>,
    /// Portal of the array: an address, or address and port.
    #[schema(max_length = 64, example = "10.10.1.2:3260")]
    portal: Option<String>,
    /// Static address of the VMkernel port.
    #[schema(value_type = Option<String>, format = Ipv4, example = "10.10.1.11")]
    address: Option<Ipv4Addr>,
    /// Its network mask.
    #[schema(value_type = Option<String>, format = Ipv4, example = "255.255.255.0")]
    netmask: Option<Ipv4Addr>,
    /// VLAN of the port group.
    #[schema(minimum = 0, maximum = 4095)]
    vlan: Option<u16>,
    /// Virtual switch to make.
    #[schema(max_length = 64)]
    vswitch: Option<String>,
    /// Port group to make.
    #[schema(max_length = 64)]
    port_group: Option<String>,
    /// VMkernel port to make.
    #[schema(max_length = 64, example = "vmk3")]
    vmkernel: Option<String>,
    /// The iSER adapter, once it is known.
    #[schema(max_length = 64, example = "vmhba65")]
    adapter: Option<String>,
}

/// A host.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HostBody {
    /// Its name.
    #[schema(max_length = 200, example = "esx-1.example")]
    name: String,
    /// Version of ESXi.
    #[schema(max_length = 64, example = "7.0.3")]
    esxi: String,
    /// Its adapters.
    #[serde(default, deserialize_with = "crate::http::extract::objects")]
    #[schema(max_items = 64)]
    nics: Vec<NicBody>,
}

/// An adapter.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NicBody {
    /// Driver or model.
    #[schema(max_length = 200, example = "nmlx5_core")]
    adapter: String,
    /// Name on the host.
    #[schema(max_length = 64, example = "vmnic4")]
    device: Option<String>,
}

/// Advise on iSER for ESXi hosts
///
/// Which hosts can do iSER (iSCSI over RDMA), why others cannot, and for those that can the lines for
/// esxcli and PowerCLI in their order, each with the check after it and what the check must show.
#[utoipa::path(
    post, path = "/api/v1/advice/iser", tag = "advice",
    params(FormatQuery),
    request_body(content = IserForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The advice.", content(
            (Object = "application/json"),
            (String = "text/markdown"),
            (String = "text/plain"),
        )),
        (status = 400, description = "The form or the query cannot be read."),
        (status = 406, description = "None of the accepted formats can be made."),
        (status = 413, description = "The upload is larger than the limit."),
        (status = 415, description = "The body is no form."),
        (status = 422, description = "A file was refused, or options do not fit."),
    ),
)]
pub async fn advise_iser(
    State(app): State<App>,
    Query(query): Query<FormatQuery>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let format = format(query.format, &headers)?;
    let upload = receive(&app, request).await?;
    let body: IserOptionsBody = match &upload.options {
        Some(text) => json(text, "/options")?,
        None => IserOptionsBody::default(),
    };
    if upload.files.is_empty() == body.hosts.is_empty() {
        return Err(Problem::unfit(
            "files_or_hosts",
            "send either files or options with hosts, and not both",
        ));
    }
    let hosts = hosts(&body)?;
    let settings = body.settings();
    let inputs: Vec<Input> = upload
        .files
        .iter()
        .map(|file| Input::named_path(file.record.name.clone(), file.path.to_path_buf()))
        .collect();
    let advice = app.jobs.advice(inputs, hosts, settings).await?;
    let (bytes, kind) = match format {
        AdviceFormat::Json => (serde_json::to_vec(&advice)?, "application/json"),
        AdviceFormat::Md => (advice.markdown().into_bytes(), "text/markdown; charset=utf-8"),
        AdviceFormat::Text => (advice.text().into_bytes(), "text/plain; charset=utf-8"),
    };
    Ok(([(header::CONTENT_TYPE, kind), (header::VARY, "accept")], bytes).into_response())
}

fn format(asked: Option<AdviceFormat>, headers: &HeaderMap) -> Result<AdviceFormat, Problem> {
    if let Some(format) = asked {
        return Ok(format);
    }
    let types = OFFERED.map(|(_, media)| media);
    choose(headers, &types)
        .map(|index| OFFERED[index].0)
        .ok_or_else(|| Problem::not_acceptable(&types))
}

fn hosts(body: &IserOptionsBody) -> Result<Vec<iser::Host>, Problem> {
    let refuse = |at: String, what: &str| {
        Err(Problem::unfit("values_do_not_fit", format!("{at}: {what}")).at(at, what))
    };
    if body.hosts.len() > MOST_HOSTS {
        return refuse("/options/hosts".to_owned(), "more than 1000 hosts");
    }
    let is_long = |text: &str, most: usize| text.chars().count() > most;
    let mut hosts = Vec::new();
    for (index, host) in body.hosts.iter().enumerate() {
        let at = format!("/options/hosts/{index}");
        if is_long(&host.name, NAME_CHARACTERS) || is_long(&host.esxi, WORD_CHARACTERS) {
            return refuse(at, "a name of more than 200 characters, or a version of more than 64");
        }
        let too_long = |nic: &NicBody| {
            is_long(&nic.adapter, NAME_CHARACTERS)
                || nic.device.as_deref().is_some_and(|device| is_long(device, WORD_CHARACTERS))
        };
        if host.nics.len() > MOST_NICS || host.nics.iter().any(too_long) {
            return refuse(at + "/nics", "more than 64 adapters, or one with too long a name");
        }
        let nics = host.nics.iter().map(|nic| iser::Nic {
            device: nic.device.clone(),
            adapter: nic.adapter.clone(),
            ..iser::Nic::default()
        });
        hosts.push(iser::Host {
            name: host.name.clone(),
            version: Some(host.esxi.clone()),
            nics: Some(nics.collect()),
            ..iser::Host::default()
        });
    }
    Ok(hosts)
}

impl IserOptionsBody {
    fn settings(&self) -> iser::Settings {
        iser::Settings {
            portal: self.portal.clone(),
            address: self.address,
            netmask: self.netmask,
            vlan: self.vlan,
            vswitch: self.vswitch.clone(),
            port_group: self.port_group.clone(),
            vmkernel: self.vmkernel.clone(),
            adapter: self.adapter.clone(),
        }
    }
}
