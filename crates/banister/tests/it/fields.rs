//! Named fields: vectors within their bound, values that come back, and refusals that name the field.

use std::collections::BTreeMap;

use banister::fields::{FieldValue, Fields};
use proptest::prelude::*;

fn fields(json: &str) -> Fields {
    let fields: Fields = serde_json::from_str(json).unwrap();
    fields.check().unwrap();
    fields
}

fn row(json: &str) -> BTreeMap<String, FieldValue> {
    serde_json::from_str(json).unwrap()
}

const ALL: &str = r#"{
    "country": {"kind": "category", "values": ["de", "fr"], "unseen": "other", "missing": "indicator"},
    "hour": {"kind": "number", "range": [0, 24], "missing": "indicator"},
    "load": {"kind": "number", "range": [10, 20], "outside": "clip"},
    "member": {"kind": "boolean"},
    "shop": {"kind": "category", "values": [3, 17]}
}"#;

#[test]
fn every_field_has_its_numbers_in_the_order_of_names() {
    let fields = fields(ALL);
    let names = [
        "intercept",
        "country=de",
        "country=fr",
        "country=other",
        "country missing",
        "hour",
        "hour missing",
        "load",
        "member",
        "shop=3",
        "shop=17",
    ];
    assert_eq!(fields.names(), names);
    assert_eq!(fields.dimension(), names.len());
    assert_eq!(fields.norm(), 6.0_f64.sqrt());
    for (given, expected) in [
        (
            r#"{"country": "fr", "hour": 6, "load": 15, "member": true, "shop": 17.0}"#,
            [1.0, 0.0, 1.0, 0.0, 0.0, -0.5, 0.0, 0.0, 1.0, 0.0, 1.0],
        ),
        (
            r#"{"country": "es", "load": 99, "member": false, "shop": 3}"#,
            [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, -1.0, 1.0, 0.0],
        ),
        (
            r#"{"country": null, "hour": 24, "load": 9.5, "member": false, "shop": 3}"#,
            [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0],
        ),
    ] {
        let codes = fields.codes(&row(given)).unwrap();
        assert_eq!(fields.vector(&codes), expected, "{given}");
    }
}

#[test]
fn values_come_back_from_codes() {
    let fields = fields(ALL);
    let given = row(r#"{"country": "es", "hour": null, "load": 99, "member": true, "shop": 17}"#);
    let codes = fields.codes(&given).unwrap();
    let expected =
        row(r#"{"country": "other", "hour": null, "load": 99, "member": true, "shop": 17}"#);
    assert_eq!(fields.values(&codes), expected);
    // What comes back stands for the same codes, bit by bit.
    let again = fields.codes(&expected).unwrap();
    let bits = |codes: &[f64]| codes.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&again), bits(&codes));
}

#[test]
fn a_listed_other_takes_the_rest() {
    let fields = fields(
        r#"{"country": {"kind": "category", "values": ["other", "de"], "unseen": "other"}}"#,
    );
    assert_eq!(fields.names(), ["intercept", "country=other", "country=de"]);
    let codes = fields.codes(&row(r#"{"country": "es"}"#)).unwrap();
    assert_eq!(fields.vector(&codes), [1.0, 1.0, 0.0]);
}

#[test]
fn refusals_name_the_field_the_value_and_what_is_allowed() {
    let fields = fields(ALL);
    let good = r#"{"country": "fr", "hour": 6, "load": 15, "member": true, "shop": 17}"#;
    for (name, value, expected) in [
        ("shop", "18", "`shop` is 18: must be one of 3, 17"),
        ("shop", "\"17\"", "`shop` is \"17\": must be one of 3, 17"),
        ("shop", "null", "`shop` is missing: must be one of 3, 17"),
        (
            "hour",
            "25",
            "`hour` is 25: must be a number in [0, 24], or missing",
        ),
        (
            "hour",
            "\"6\"",
            "`hour` is \"6\": must be a number in [0, 24], or missing",
        ),
        ("member", "1", "`member` is 1: must be true or false"),
        (
            "country",
            "true",
            "`country` is true: must be a text or a number, or missing",
        ),
        (
            "colour",
            "\"red\"",
            "`colour` is \"red\": there is no such field; the fields are country, hour, load, member, shop",
        ),
    ] {
        let mut row = row(good);
        row.insert(name.into(), serde_json::from_str(value).unwrap());
        assert_eq!(fields.codes(&row).unwrap_err().to_string(), expected);
    }
    for number in [f64::NAN, f64::INFINITY] {
        let mut row = row(good);
        row.insert("load".into(), FieldValue::Number(number));
        let expected = format!("`load` is {number}: must be a finite number");
        assert_eq!(fields.codes(&row).unwrap_err().to_string(), expected);
    }
}

#[test]
fn declarations_without_sense_are_refused() {
    for (json, expected) in [
        ("{}", "`.` is empty: name at least one field"),
        (
            r#"{"a": {"kind": "category", "values": []}}"#,
            "`a.values` is empty: list at least one value",
        ),
        (
            r#"{"a": {"kind": "category", "values": ["x", "x"]}}"#,
            "`a.values[1]` is \"x\": it is there twice",
        ),
        (
            r#"{"a": {"kind": "number", "range": [1, 1]}}"#,
            "`a.range` is [1, 1]: the first number must be below the second",
        ),
    ] {
        let fields: Fields = serde_json::from_str(json).unwrap();
        assert_eq!(fields.check().unwrap_err().to_string(), expected);
    }
    for json in [
        r#"{"a": {"kind": "number", "range": [1, 2, 3]}}"#,
        r#"{"a": {"kind": "number"}}"#,
        r#"{"a": {"kind": "text"}}"#,
        r#"{"a": {"kind": "boolean", "range": [0, 1]}}"#,
        r#"{"a": {"kind": "boolean"}, "a": {"kind": "boolean"}}"#,
    ] {
        assert!(serde_json::from_str::<Fields>(json).is_err(), "{json}");
    }
}

proptest! {
    /// Ranges and numbers of any size: no vector is longer than the bound, as the agents measure it.
    #[test]
    fn no_vector_is_longer_than_its_bound(
        lo in -1e300_f64..1e300,
        width in 1e-9_f64..1e300,
        share in 0.0_f64..=1.0,
        country in "[a-z]{1,3}",
        member: bool,
    ) {
        prop_assume!(lo + width > lo);
        let json = serde_json::json!({
            "x": {"kind": "number", "range": [lo, lo + width], "outside": "clip"},
            "country": {"kind": "category", "values": ["de"], "unseen": "other"},
            "member": {"kind": "boolean"},
        });
        let fields: Fields = serde_json::from_value(json).unwrap();
        prop_assume!(fields.check().is_ok());
        let row = BTreeMap::from([
            ("x".to_string(), FieldValue::Number(lo + share * width)),
            ("country".to_string(), FieldValue::Text(country)),
            ("member".to_string(), FieldValue::Boolean(member)),
        ]);
        let x = fields.vector(&fields.codes(&row).unwrap());
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        prop_assert!(length <= fields.norm());
    }
}
