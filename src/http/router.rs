//! The table of contents of the service.
//!
//! Routes given through `routes!` are in the OpenAPI document; pages are not. Layers run from the
//! bottom of [`router`] to its top on the way in.

use axum::Router;
use axum::extract::{DefaultBodyLimit, OriginalUri};
use axum::http::Method;
use axum::middleware;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use super::{
    App, advice, auth, catalog, headers, health, inventories, jobs, models, observe, openapi,
    pages, plans, reports, session,
};

/// Every documented route.
pub(super) fn documented() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(reports::create::create_report))
        .routes(routes!(inventories::list::list_inventories, inventories::create::create_inventory))
        .routes(routes!(inventories::get::get_inventory, inventories::delete::delete_inventory))
        .routes(routes!(inventories::problems::list_problems))
        .routes(routes!(inventories::findings::list_findings))
        .routes(routes!(inventories::vms::list_vms))
        .routes(routes!(inventories::datastores::list_datastores))
        .routes(routes!(jobs::get::get_job, jobs::cancel::cancel_job))
        .routes(routes!(jobs::events::follow_job))
        .routes(routes!(plans::list::list_plans, plans::create::create_plan))
        .routes(routes!(plans::get::get_plan))
        .routes(routes!(plans::report::get_plan_report))
        .routes(routes!(models::list::list_models))
        .routes(routes!(models::fit::fit_model))
        .routes(routes!(models::get::get_model))
        .routes(routes!(models::predict::predict))
        .routes(routes!(advice::iser::advise_iser))
        .routes(routes!(catalog::get_catalog))
        .routes(routes!(catalog::get_rules))
        .routes(routes!(session::create_session))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::version))
        .routes(routes!(health::metrics))
}

/// The whole service.
pub fn router(app: App) -> Router {
    observe::start_metrics();
    let (api, _) = documented().split_for_parts();
    let (_, document) = documented().split_for_parts();
    let document = openapi::finish(document);
    api.route("/", get(pages::start))
        .route("/sample.xlsx", get(pages::sample))
        .route("/web/{*path}", get(pages::asset))
        .route("/favicon.ico", get(pages::favicon))
        .merge(pages::docs(&document))
        .fallback(async |OriginalUri(uri): OriginalUri| Problem::no_route(uri.path()))
        .method_not_allowed_fallback(async |method: Method| {
            Problem::method_not_allowed(method.as_str())
        })
        // Uploads count for themselves; what is read whole has limits of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(app.clone(), auth::guard))
        .layer(middleware::from_fn(headers::secure))
        .layer(CatchPanicLayer::custom(observe::panicked))
        .layer(middleware::from_fn(observe::request))
        .with_state(app)
}
