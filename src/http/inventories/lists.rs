//! A page of one of an inventory's lists.

use axum::Json;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::http::App;
use crate::http::page::{PageBody, PageQuery};
use crate::http::problem::Problem;
use crate::store::ItemKind;

/// A page of a list of an inventory that was read.
pub async fn page<T: DeserializeOwned>(
    app: &App,
    inventory: Uuid,
    kind: ItemKind,
    query: &PageQuery,
) -> Result<Json<PageBody<T>>, Problem> {
    read_already(app, inventory).await?;
    let found =
        app.store.items(inventory, kind, query.after.map(u64::from), query.limit()?).await?;
    let items =
        found.items.iter().map(|text| serde_json::from_str(text)).collect::<Result<Vec<T>, _>>()?;
    Ok(Json(PageBody { items, next: found.next }))
}

/// Refuses an inventory that is not there (404) or was not read (409).
pub async fn read_already(app: &App, id: Uuid) -> Result<(), Problem> {
    let inventory =
        app.store.inventory(id).await?.ok_or_else(|| Problem::not_found("inventory", id))?;
    if inventory.summary.is_none() {
        return Err(Problem::conflict(
            "inventory_not_read",
            format!("the inventory was not read (yet): its job {} says why", inventory.job),
        ));
    }
    Ok(())
}
