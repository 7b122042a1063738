//! Words for true, false and power states, in the languages of `data/locales/words.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::cell::Cell;
use crate::rows::PowerState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Locale {
    #[expect(dead_code, reason = "documents the row")]
    language: String,
    #[serde(rename = "true")]
    yes: Vec<String>,
    #[serde(rename = "false")]
    no: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Locales {
    locale: Vec<Locale>,
}

static WORDS: LazyLock<HashMap<String, bool>> = LazyLock::new(|| {
    let text = include_str!("../../../../data/locales/words.toml");
    // The file is part of the build and a test reads it: a fault cannot reach a user.
    let locales = toml::from_str(text).unwrap_or(Locales { locale: Vec::new() });
    let mut words = HashMap::new();
    for locale in locales.locale {
        words.extend(locale.yes.into_iter().map(|word| (word, true)));
        words.extend(locale.no.into_iter().map(|word| (word, false)));
    }
    words
});

/// True, false, or `Err` for a value that is neither.
pub(crate) fn flag(cell: Cell<'_>) -> Result<Option<bool>, ()> {
    match cell {
        Cell::Blank | Cell::Error => Ok(None),
        Cell::Bool(flag) => Ok(Some(flag)),
        Cell::Number(0.0) | Cell::Text("False" | "FALSE" | "0") => Ok(Some(false)),
        Cell::Number(1.0) | Cell::Text("True" | "TRUE" | "1") => Ok(Some(true)),
        Cell::Text(text) => WORDS.get(&text.to_lowercase()).map(|flag| Some(*flag)).ok_or(()),
        Cell::Number(_) | Cell::Date(_) => Err(()),
    }
}

/// `poweredOn`, `poweredOff` or `suspended`, in any case and with blanks or underscores.
pub(crate) fn power_state(cell: Cell<'_>) -> Result<Option<PowerState>, ()> {
    match cell {
        Cell::Blank | Cell::Error => Ok(None),
        Cell::Text("poweredOn") => Ok(Some(PowerState::PoweredOn)),
        Cell::Text("poweredOff") => Ok(Some(PowerState::PoweredOff)),
        Cell::Text(text) => {
            let key: String =
                text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
            match key.as_str() {
                "poweredon" | "poweron" | "on" => Ok(Some(PowerState::PoweredOn)),
                "poweredoff" | "poweroff" | "off" => Ok(Some(PowerState::PoweredOff)),
                "suspended" => Ok(Some(PowerState::Suspended)),
                _ => Err(()),
            }
        }
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_of_all_locales() {
        for word in ["True", "WAHR", "Vrai", "VERDADERO", "Verdadeiro", "WAAR", "1", "yes", "Sí"] {
            assert_eq!(flag(Cell::Text(word)), Ok(Some(true)), "{word}");
        }
        for word in ["False", "FALSCH", "Faux", "FALSO", "ONWAAR", "0", "No", "Não"] {
            assert_eq!(flag(Cell::Text(word)), Ok(Some(false)), "{word}");
        }
        assert_eq!(flag(Cell::Text("Link is down!")), Err(()));
        assert_eq!(flag(Cell::Blank), Ok(None));
    }

    #[test]
    fn no_word_means_both() {
        let text = include_str!("../../../../data/locales/words.toml");
        let locales: Result<Locales, _> = toml::from_str(text);
        assert!(locales.is_ok());
        let mut meaning = HashMap::new();
        for locale in locales.map(|l| l.locale).unwrap_or_default() {
            for (word, flag) in
                locale.yes.iter().map(|w| (w, true)).chain(locale.no.iter().map(|w| (w, false)))
            {
                assert_eq!(*word, word.to_lowercase());
                assert_eq!(*meaning.entry(word.clone()).or_insert(flag), flag, "{word}");
            }
        }
    }

    #[test]
    fn power_states() {
        assert_eq!(power_state(Cell::Text("POWERED_OFF")), Ok(Some(PowerState::PoweredOff)));
        assert_eq!(power_state(Cell::Text("Powered On")), Ok(Some(PowerState::PoweredOn)));
        assert_eq!(power_state(Cell::Text("suspended")), Ok(Some(PowerState::Suspended)));
        assert_eq!(power_state(Cell::Text("green")), Err(()));
    }
}
