//! Finds secrets in free text and takes them out before the text reaches a row or a message.

use std::borrow::Cow;

/// Put in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Words after which a secret stands, lower case; longer ones before those they contain.
const MARKERS: [&str; 27] = [
    "passphrase",
    "password",
    "passwort",
    "passwd",
    "contraseña",
    "contrasena",
    "mot de passe",
    "wachtwoord",
    "kennwort",
    "palavra-passe",
    "senha",
    "hasło",
    "пароль",
    "パスワード",
    "密码",
    "pwd",
    "pass",
    "secret",
    "client_secret",
    "api key",
    "api-key",
    "api_key",
    "apikey",
    "access key",
    "access_key",
    "token",
    "bearer",
];

/// The text without its secrets, and whether there was one.
pub(crate) fn redact(text: &str) -> (Cow<'_, str>, bool) {
    let (marked, found_marked) = redact_marked(text);
    let (keyed, found_key) = redact_licence_keys(&marked);
    if found_key { (Cow::Owned(keyed.into_owned()), true) } else { (marked, found_marked) }
}

/// `password=x`, `pwd: x`, `token "x"`, `Authorization: Bearer x`.
fn redact_marked(text: &str) -> (Cow<'_, str>, bool) {
    if !text.contains([':', '=', '：']) && !contains_ignore_case(text, "bearer ") {
        return (Cow::Borrowed(text), false);
    }
    let lower = fold(text);
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        let Some((start, marker)) = next_marker(&lower, at) else { break };
        let end = start + marker.len();
        at = end;
        let Some(value) = secret_after(text, end, marker) else { continue };
        out.push_str(&text[copied..value.start]);
        out.push_str(REDACTED);
        copied = value.end;
        at = value.end;
    }
    if copied == 0 {
        return (Cow::Borrowed(text), false);
    }
    out.push_str(&text[copied..]);
    (Cow::Owned(out), true)
}

/// Lower case with every character at its own byte offset: those whose lower case has another
/// length stay as they are.
fn fold(text: &str) -> String {
    text.chars()
        .map(|c| {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(l), None) if l.len_utf8() == c.len_utf8() => l,
                _ => c,
            }
        })
        .collect()
}

fn contains_ignore_case(text: &str, needle: &str) -> bool {
    text.as_bytes().windows(needle.len()).any(|w| w.eq_ignore_ascii_case(needle.as_bytes()))
}

/// The first marker at the start of a word, from a place on; the longest of those that fit there.
fn next_marker(lower: &str, from: usize) -> Option<(usize, &'static str)> {
    let mut before = lower[..from].chars().next_back();
    for (at, c) in lower[from..].char_indices() {
        let starts_word = before.is_none_or(|b| !b.is_alphanumeric());
        before = Some(c);
        if !starts_word {
            continue;
        }
        let rest = &lower[from + at..];
        let found = MARKERS
            .iter()
            .filter(|marker| rest.starts_with(**marker))
            .max_by_key(|marker| marker.len());
        if let Some(marker) = found {
            return Some((from + at, marker));
        }
    }
    None
}

/// The secret behind a marker that ends at `end`: after `:` or `=`, up to a blank, comma or
/// semicolon, or the whole of a quoted text. `bearer` needs no sign.
fn secret_after(text: &str, end: usize, marker: &str) -> Option<std::ops::Range<usize>> {
    let rest = &text[end..];
    // Plural and possessive endings, and a qualifier such as "password (root) =".
    let sign = rest
        .char_indices()
        .take(24)
        .take_while(|(_, c)| *c != '\n')
        .find(|(_, c)| matches!(c, ':' | '=' | '：'));
    let value_from = match sign {
        Some((at, c)) => {
            let between = rest[..at].trim();
            let qualifier = between.starts_with('(') && between.ends_with(')');
            if !(between.is_empty()
                || between == "s"
                || between == "\""
                || between == "'"
                || qualifier)
            {
                return None;
            }
            end + at + c.len_utf8()
        }
        None if marker == "bearer" && rest.starts_with(' ') => end + 1,
        None => return None,
    };
    let mut tail = &text[value_from..];
    let mut start = value_from;
    let skip = tail.len() - tail.trim_start_matches([' ', '\t', '=', '>']).len();
    start += skip;
    tail = &tail[skip..];
    let quote = tail.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let inner = &tail[1..];
        let length = inner.find(quote).unwrap_or(inner.len());
        return (length > 0).then_some(start + 1..start + 1 + length);
    }
    let length = tail
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '|' | '<'))
        .unwrap_or(tail.len());
    (length > 0).then_some(start..start + length)
}

/// `XXXXX-XXXXX-XXXXX-XXXXX-XXXXX`: five groups of five capitals and digits, the form of licence
/// keys of VMware and Microsoft.
fn redact_licence_keys(text: &str) -> (Cow<'_, str>, bool) {
    const LENGTH: usize = 29;
    let bytes = text.as_bytes();
    if bytes.len() < LENGTH || !bytes.contains(&b'-') {
        return (Cow::Borrowed(text), false);
    }
    let is_key = |at: usize| {
        let word = |i: Option<&u8>| i.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'-');
        bytes.len() >= at + LENGTH
            && (at == 0 || word(bytes.get(at - 1)))
            && word(bytes.get(at + LENGTH))
            && bytes[at..at + LENGTH].iter().enumerate().all(|(i, b)| {
                if i % 6 == 5 { *b == b'-' } else { b.is_ascii_digit() || b.is_ascii_alphabetic() }
            })
    };
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at + LENGTH <= bytes.len() {
        if bytes[at + 5] == b'-' && is_key(at) {
            out.push_str(&text[copied..at]);
            out.push_str(REDACTED);
            at += LENGTH;
            copied = at;
        } else {
            at += 1;
        }
    }
    if copied == 0 {
        return (Cow::Borrowed(text), false);
    }
    out.push_str(&text[copied..]);
    (Cow::Owned(out), true)
}

/// A value for a message: without secrets, on one line, at most 80 characters.
pub(crate) fn shown(value: &str) -> String {
    const KEPT: usize = 80;
    // Far more than is shown; a secret that starts beyond is cut off with the rest.
    let cut = value.char_indices().nth(KEPT * 4).map_or(value, |(at, _)| &value[..at]);
    let (clean, _) = redact(cut);
    let mut line: String =
        clean.chars().map(|c| if c.is_control() { ' ' } else { c }).take(KEPT).collect();
    if clean.chars().nth(KEPT).is_some() || cut.len() < value.len() {
        line = line.chars().take(KEPT - 1).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out() {
        for (text, expected) in [
            ("root password=Passw0rd! see wiki", "root password=[redacted] see wiki"),
            ("pwd: hunter2", "pwd: [redacted]"),
            ("パスワード：ひみつ", "パスワード：[redacted]"),
            ("Passwort: geheim, Etage 3", "Passwort: [redacted], Etage 3"),
            ("API Key = abc123", "API Key = [redacted]"),
            ("token=\"a b c\" ok", "token=\"[redacted]\" ok"),
            ("Authorization: Bearer eyJhbGciOi.x", "Authorization: Bearer [redacted]"),
            ("PASSWORD (root): x1", "PASSWORD (root): [redacted]"),
            ("pass:one pass:two", "pass:[redacted] pass:[redacted]"),
            ("key 4A2B1-00000-ZZZZZ-99999-ABCDE end", "key [redacted] end"),
        ] {
            let (clean, found) = redact(text);
            assert_eq!(clean, expected);
            assert!(found, "{text}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "bypass: no",
            "The password is kept in the vault",
            "owner: storage team",
            "compass=north",
            "500b85c1-ef0d-37fb-6897-61c47157f858",
            "İstanbul: x",
        ] {
            assert_eq!(redact(text), (Cow::Borrowed(text), false));
        }
    }

    #[test]
    fn shown_values_are_short_and_clean() {
        assert_eq!(shown(&"x".repeat(500)).chars().count(), 80);
        assert_eq!(shown("a\nb"), "a b");
        assert_eq!(shown("token: abc"), "token: [redacted]");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in ".{0,200}") {
            let _ = redact(&text);
            let _ = shown(&text);
        }

        #[test]
        fn a_marked_secret_never_survives(before in "[a-z ]{0,20}", secret in "[A-Za-z0-9!%&/]{4,20}") {
            let text = format!("{before} password={secret}");
            let leaked = redact(&text).0.contains(&format!("password={secret}"));
            proptest::prop_assert!(!leaked);
        }
    }
}
