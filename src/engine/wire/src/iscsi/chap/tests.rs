//! Whole exchanges, one way and mutual, and what must be refused.
#![allow(clippy::unwrap_used)]

use super::*;

fn counting() -> impl FnMut(&mut [u8]) {
    let mut next = 0u8;
    move |bytes| {
        for byte in bytes {
            next = next.wrapping_add(37);
            *byte = next;
        }
    }
}

fn borrow(answer: &Answer) -> Vec<(&str, &str)> {
    answer.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

fn user() -> Credentials {
    Credentials::new("host", "a secret of twenty")
}

fn array() -> Credentials {
    Credentials::new("array", "another secret, longer")
}

#[test]
fn rfc1994_4_1_responses_of_each_algorithm() {
    // Computed with `printf '\x01secret\xaa\xbb' | openssl dgst -md5` and its siblings.
    let response = |algorithm: Algorithm| encode(&algorithm.response(1, b"secret", &[0xaa, 0xbb]));
    assert_eq!(response(Algorithm::Md5), "0x52b84dd1a7253536d2f969cd661a25de");
    assert_eq!(
        response(Algorithm::Sha256),
        "0xc779f2085cfc26ecbce7b258493f9eaae5c948256dc87839664bbfa69e08f43c"
    );
    assert_eq!(
        response(Algorithm::Sha3_256),
        "0x1660fd124190cfd97424ae3fcaba39ee56ac1bec04a7d56220a7a0b2940271f9"
    );
}

#[test]
fn rfc7143_12_1_3_one_way_and_mutual_exchanges_succeed() {
    for mutual in [false, true] {
        for algorithm in Algorithm::ALL {
            let mut verifier = Verifier::new(vec![user()], Some(array()));
            let mut prover = Prover::new(user(), mutual.then(array));
            let (mut here, mut there) = (counting(), counting());
            there(&mut [0; 7]); // the two ends draw different numbers
            let offer = (algorithm as u8).to_string();
            let challenge = verifier.receive(&[("CHAP_A", &offer)], &mut there).unwrap();
            let proof = prover.receive(&borrow(&challenge), &mut here).unwrap();
            assert_eq!(prover.is_done(), !mutual);
            let answer = verifier.receive(&borrow(&proof), &mut there).unwrap();
            assert_eq!(verifier.user(), Some("host"));
            if mutual {
                prover.receive(&borrow(&answer), &mut here).unwrap();
            }
            assert!(prover.is_done());
        }
    }
}

#[test]
fn rfc7143_12_1_3_the_first_offered_algorithm_that_is_known_is_taken() {
    let mut verifier = Verifier::new(vec![user()], None);
    let answer = verifier.receive(&[("CHAP_A", "6,8,5")], &mut counting()).unwrap();
    assert_eq!(answer[0], ("CHAP_A", "8".to_owned()));
    assert_eq!(Prover::offer(), ("CHAP_A", "8,5,7".to_owned()));
    let mut verifier = Verifier::new(vec![user()], None);
    let refused = verifier.receive(&[("CHAP_A", "6,99")], &mut counting());
    assert_eq!(refused, Err(ChapError::NoAlgorithm));
}

fn challenged() -> (Verifier, Vec<u8>, u8) {
    let mut verifier = Verifier::new(vec![user()], Some(array()));
    let answer = verifier.receive(&[("CHAP_A", "5")], &mut counting()).unwrap();
    let keys = borrow(&answer);
    let challenge = binary(&keys, "CHAP_C").unwrap();
    (verifier, challenge, identifier(&keys).unwrap())
}

#[test]
fn rfc7143_9_2_1_wrong_secret_name_or_length_is_refused() {
    let cases: [(&str, &[u8], usize); 4] = [
        ("host", b"not the secret", 16),
        ("guest", b"a secret of twenty", 16),
        ("host", b"a secret of twenty", 15),
        ("array", b"another secret, longer", 16),
    ];
    for (name, secret, len) in cases {
        let (mut verifier, challenge, id) = challenged();
        let response = encode(&Algorithm::Md5.response(id, secret, &challenge)[..len]);
        let keys = [("CHAP_N", name), ("CHAP_R", response.as_str())];
        assert_eq!(verifier.receive(&keys, &mut counting()), Err(ChapError::Wrong), "{name}");
        assert_eq!(verifier.user(), None);
    }
}

#[test]
fn rfc7143_9_2_1_a_reflected_challenge_is_refused() {
    let (mut verifier, challenge, id) = challenged();
    let response = encode(&Algorithm::Md5.response(id, b"a secret of twenty", &challenge));
    let reflected = encode(&challenge);
    let keys = [
        ("CHAP_N", "host"),
        ("CHAP_R", response.as_str()),
        ("CHAP_I", "1"),
        ("CHAP_C", reflected.as_str()),
    ];
    assert_eq!(verifier.receive(&keys, &mut counting()), Err(ChapError::Reflected));
    assert_eq!(verifier.user(), None);
}

#[test]
fn rfc7143_12_1_3_a_target_that_cannot_prove_itself_is_refused() {
    let mut prover = Prover::new(user(), Some(array()));
    let challenge = [("CHAP_A", "7"), ("CHAP_I", "0x1f"), ("CHAP_C", "0b3q2+7w==")];
    prover.receive(&challenge, &mut counting()).unwrap();
    let answer = [("CHAP_N", "array"), ("CHAP_R", "0x00")];
    assert_eq!(prover.receive(&answer, &mut counting()), Err(ChapError::Wrong));
    assert!(!prover.is_done());
}

#[test]
fn rfc7143_12_1_3_keys_out_of_order_are_refused() {
    let mut verifier = Verifier::new(vec![user()], None);
    let early = [("CHAP_N", "host"), ("CHAP_R", "0x00")];
    assert_eq!(verifier.receive(&early, &mut counting()), Err(ChapError::Missing("CHAP_A")));
    let (mut verifier, challenge, id) = challenged();
    let response = encode(&Algorithm::Md5.response(id, b"a secret of twenty", &challenge));
    let keys = [("CHAP_N", "host"), ("CHAP_R", response.as_str())];
    verifier.receive(&keys, &mut counting()).unwrap();
    assert_eq!(verifier.receive(&keys, &mut counting()), Err(ChapError::OutOfOrder));
}

#[test]
fn rfc7143_6_1_binary_values_in_hex_and_base64_up_to_1024_bytes() {
    let bytes: Vec<u8> = (0..1024).map(|i| (i * 7) as u8).collect();
    assert_eq!(decode(&encode(&bytes)).as_deref(), Some(&bytes[..]));
    let base64 = format!("0b{}", STANDARD.encode(&bytes));
    assert_eq!(decode(&base64).as_deref(), Some(&bytes[..]));
    assert_eq!(decode("0xABC").as_deref(), Some(&[0x0a, 0xbc][..]));
    let long = [&bytes[..], &[1]].concat();
    for bad in ["", "0x", "0b", "0xzz", "0b***", "1234", "0", "0xé", &encode(&long)] {
        assert_eq!(decode(bad), None, "{bad}");
    }
    assert_eq!(decode(&format!("0b{}", STANDARD.encode(&long))), None);
}

#[test]
fn secrets_are_not_shown() {
    assert!(!format!("{:?}", user()).contains("twenty"));
}
