//! Which class a VM is of: the first rule whose conditions hold.
//!
//! A hundred thousand names meet some fifty rules, so everything shared is answered once: guest OS
//! texts and datastores are matched per distinct value, and a pattern is tried on a name only when
//! the name holds all signs of the pattern (a 32-bit mask).

use std::collections::HashMap;

use plimsoll_inventory::{Inventory, Vm};
use plimsoll_units::Mib;

use crate::rules::{Rule, RuleSet};

/// Decides classes for one inventory.
pub(crate) struct Matcher<'a> {
    rules: Vec<CompiledRule<'a>>,
    /// Per datastore and rule: whether the rule's datastore patterns hold.
    datastores: Vec<Vec<bool>>,
    /// Per datastore: tier in its name, IOPS per GB.
    tiers: Vec<Option<f64>>,
    /// Per guest OS text: whether the rule's OS patterns hold.
    systems: HashMap<&'a str, Vec<bool>>,
    /// The name being looked at, lower case.
    name: Folded,
}

struct CompiledRule<'a> {
    rule: &'a Rule,
    name: Vec<Folded>,
    word: Vec<Folded>,
    os: Vec<Folded>,
    attribute: Vec<Folded>,
}

/// Lower-case text with the set of its signs.
#[derive(Debug, Clone, Default)]
struct Folded {
    text: String,
    signs: u32,
}

impl Folded {
    fn new(text: &str) -> Self {
        let mut folded = Self::default();
        folded.set(text);
        folded
    }

    fn set(&mut self, text: &str) {
        self.text.clear();
        if text.is_ascii() {
            self.text.push_str(text);
            self.text.make_ascii_lowercase();
        } else {
            self.text.extend(text.chars().flat_map(char::to_lowercase));
        }
        self.signs = self.text.bytes().fold(0, |signs, byte| signs | sign(byte));
    }

    /// Signs that a text must hold to match this as a pattern.
    fn pattern(text: &str) -> Self {
        let mut folded = Self::new(text);
        folded.signs = folded.text.bytes().fold(0, |signs, byte| {
            signs
                | match byte {
                    b'*' | b'?' => 0,
                    b'#' => DIGIT,
                    other => sign(other),
                }
        });
        folded
    }

    fn may_match(&self, text: &Self) -> bool {
        self.signs & !text.signs == 0
    }

    fn matches(&self, text: &Self) -> bool {
        self.may_match(text) && glob(self.text.as_bytes(), text.text.as_bytes())
    }
}

const DIGIT: u32 = 1 << 26;

fn sign(byte: u8) -> u32 {
    match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'0'..=b'9' => DIGIT,
        b'-' => 1 << 27,
        b'_' => 1 << 28,
        b'.' => 1 << 29,
        0x80.. => 1 << 30,
        _ => 1 << 31,
    }
}

/// Whether `text` matches `pattern`: `*` any run, `?` one sign (of one byte), `#` one digit.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let fits = pattern.get(p).is_some_and(|&want| match want {
            b'?' => true,
            b'#' => text[t].is_ascii_digit(),
            b'*' => false,
            want => want == text[t],
        });
        if fits {
            p += 1;
            t += 1;
        } else if pattern.get(p) == Some(&b'*') {
            p += 1;
            retry = Some((p, t));
        } else if let Some((after_star, from)) = retry {
            p = after_star;
            t = from + 1;
            retry = Some((after_star, t));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&rest| rest == b'*')
}

fn any(patterns: &[Folded], text: &Folded) -> bool {
    patterns.iter().any(|pattern| pattern.matches(text))
}

/// Words of a name: runs of letters.
fn has_word(words: &[Folded], name: &Folded) -> bool {
    words.iter().any(|word| {
        word.may_match(name)
            && name.text.split(|sign: char| !sign.is_alphabetic()).any(|part| part == word.text)
    })
}

/// Patterns of `name` fields elsewhere in the rules.
pub(crate) fn name_matches(patterns: &[String], name: &str) -> bool {
    let name = Folded::new(name);
    patterns.iter().any(|pattern| Folded::pattern(pattern).matches(&name))
}

impl<'a> Matcher<'a> {
    pub fn new(set: &'a RuleSet, inventory: &'a Inventory) -> Self {
        let compile = |patterns: &[String]| -> Vec<Folded> {
            patterns.iter().map(|pattern| Folded::pattern(pattern)).collect()
        };
        let rules: Vec<CompiledRule<'a>> = set
            .rules
            .iter()
            .map(|rule| CompiledRule {
                rule,
                name: compile(&rule.conditions.name),
                word: rule.conditions.word.iter().map(|word| Folded::new(word)).collect(),
                os: compile(&rule.conditions.os),
                attribute: rule
                    .conditions
                    .attribute
                    .as_ref()
                    .map(|attribute| compile(&attribute.value))
                    .unwrap_or_default(),
            })
            .collect();
        let datastores = inventory
            .datastores
            .iter()
            .map(|datastore| {
                let name = Folded::new(&datastore.name);
                set.rules
                    .iter()
                    .map(|rule| any(&compile(&rule.conditions.datastore), &name))
                    .collect()
            })
            .collect();
        let tiers = inventory
            .datastores
            .iter()
            .map(|datastore| datastore.tier_hint.as_deref().and_then(tier_of_hint))
            .collect();
        Self { rules, datastores, tiers, systems: HashMap::new(), name: Folded::default() }
    }

    /// Index of the first rule that matches the VM. The last built-in rule matches every VM, so
    /// there always is one.
    pub fn rule_of(&mut self, vm: &'a Vm) -> usize {
        self.name.set(&vm.name);
        let rules = &self.rules;
        let systems = vm.os.as_deref().map(|os| {
            self.systems.entry(os).or_insert_with(|| {
                let os = Folded::new(os);
                rules.iter().map(|rule| any(&rule.os, &os)).collect()
            })
        });
        let (datastores, tiers, name) = (&self.datastores, &self.tiers, &self.name);
        let holds = |index: usize, compiled: &CompiledRule<'_>| {
            let conditions = &compiled.rule.conditions;
            let named = compiled.name.is_empty() && compiled.word.is_empty()
                || any(&compiled.name, name)
                || has_word(&compiled.word, name);
            named
                && (compiled.os.is_empty()
                    || systems.as_ref().is_some_and(|systems| systems[index]))
                && (conditions.datastore.is_empty()
                    || vm.datastores.iter().any(|id| {
                        datastores.get(id.0 as usize).is_some_and(|matched| matched[index])
                    }))
                && conditions.tier_iops_per_gb.holds(|| {
                    vm.datastores.iter().find_map(|id| tiers.get(id.0 as usize).copied().flatten())
                })
                && conditions.cpus.holds(|| vm.cpus.map(f64::from))
                && conditions.memory_gib.holds(|| vm.memory.map(gib))
                && conditions.disk_gib.holds(|| vm.disk_capacity.map(gib))
                && conditions.attribute.as_ref().is_none_or(|attribute| {
                    vm.custom.iter().any(|(key, value)| {
                        key.eq_ignore_ascii_case(&attribute.key)
                            && any(&compiled.attribute, &Folded::new(value))
                    })
                })
        };
        let found = rules.iter().enumerate().position(|(index, rule)| holds(index, rule));
        debug_assert!(found.is_some(), "the last built-in rule has no condition");
        found.unwrap_or(rules.len() - 1)
    }
}

fn gib(size: Mib) -> f64 {
    size.gib().0
}

/// The number in a hint such as `2 IOPS/GB`.
fn tier_of_hint(hint: &str) -> Option<f64> {
    let number = hint.strip_suffix("IOPS/GB")?.trim();
    number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*sql*", "PRD-SQL01", true),
            ("*db#*", "CRESTDB01", true),
            ("*db#*", "dbserver", false),
            ("exch*", "stockexch", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*c", "xxaybzzc", true),
            ("*a*b*c", "xxaybzzcd", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("*\u{e9}t\u{e9}*", "SERVEUR-\u{c9}T\u{c9}", true),
        ] {
            assert_eq!(
                name_matches(&[pattern.to_owned()], text),
                expected,
                "{pattern} against {text}"
            );
        }
    }

    #[test]
    fn words_are_runs_of_letters() {
        let words = [Folded::new("dc")];
        assert!(has_word(&words, &Folded::new("PRD-DC02")));
        assert!(has_word(&words, &Folded::new("dc1")));
        assert!(!has_word(&words, &Folded::new("adcs01")));
    }

    #[test]
    fn tier_hints() {
        assert_eq!(tier_of_hint("0.25 IOPS/GB"), Some(0.25));
        assert_eq!(tier_of_hint("gold"), None);
    }
}
