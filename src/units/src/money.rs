//! Amounts of money with their currency.

use serde::{Deserialize, Serialize};

/// An amount in a currency, for a period that the field's name states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Money {
    /// Amount in units of the currency (not cents).
    pub amount: f64,
    /// ISO 4217 code.
    pub currency: String,
}

impl Money {
    /// US dollars.
    #[must_use]
    pub fn usd(amount: f64) -> Self {
        Self { amount, currency: "USD".to_owned() }
    }
}
