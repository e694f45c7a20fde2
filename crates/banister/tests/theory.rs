//! The theory calculator against its formulas, typed again from the specification.

use banister::Error;
use banister::theory::{Bounds, Setting, lower_bound_margin, regret, t_zero_range};

fn setting() -> Setting {
    Setting {
        arms: 4,
        horizon: 100_000,
        margins: vec![0.2],
        delta: 0.01,
        r: 0.5,
    }
}

fn bounds(setting: &Setting) -> Bounds {
    setting.bounds().expect("a valid setting")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

#[test]
fn every_number_follows_its_formula() {
    for (k, t, margin, delta) in [
        (2_usize, 10_000_u64, 0.5, 0.05),
        (4, 1_000_000, 0.2, 0.01),
        (50, 777, 1.0, 0.5),
    ] {
        let found = bounds(&Setting {
            arms: k,
            horizon: t,
            margins: vec![margin],
            delta,
            r: 0.5,
        });
        let (kf, tf) = (k as f64, t as f64);
        let n_s = 2.0 * kf - 1.0;
        assert_eq!(found.signals as f64, n_s);
        let corrected = (2.0 + 2.0 / margin)
            * ((2.0 * kf * tf * (2.0 * n_s * tf / delta).ln()).sqrt()
                + kf
                + (tf / 2.0 * (1.0 / delta).ln()).sqrt());
        assert!(close(found.regret, corrected));
        let printed = (1.0 + 2.0 / margin)
            * (2.0 * (2.0 * kf * tf * (4.0 * kf * tf / delta).ln()).sqrt()
                + 4.0 * (tf * (2.0 / delta).ln() * (4.0 * kf * tf / delta).ln()).sqrt());
        assert!(close(found.regret_as_printed, printed));
        assert!(close(found.lower_minimax, ((kf - 1.0) * tf).sqrt() / 27.0));
        let pulls = tf / kf;
        let hoeffding = ((2.0 * tf * n_s / delta).ln() / (2.0 * pulls)).sqrt();
        assert!(close(found.hoeffding_radius, hoeffding));
        let paper = (2.0 * (4.0 * kf * tf / delta).ln() / pulls).sqrt();
        assert!(close(found.paper_radius, paper));
    }
}

#[test]
fn the_margin_bound_needs_a_long_enough_horizon() {
    let margin: f64 = 0.1;
    let bound = 1.0 / (18.0 * margin * margin);
    let enough = (96.0 * bound).ceil() as u64;
    assert_eq!(lower_bound_margin(margin, enough), Some(bound));
    assert_eq!(lower_bound_margin(margin, enough - 1), None);
}

#[test]
fn t_zero_lies_between_its_two_formulas() {
    for (t, margin, r) in [(100_000_u64, 0.2_f64, 1.0_f64), (1_000_000, 0.05, 0.5)] {
        // ln(1/δ) with δ = 1/T².
        let log_term = (t as f64).powi(2).ln();
        let (least, most) = t_zero_range(t, margin, r);
        let unit = r * r * log_term / (margin * margin);
        assert!((8.0 * unit..8.0 * unit + 1.0).contains(&(least as f64)));
        assert!((32.0 * unit..32.0 * unit + 1.0).contains(&(most as f64)));
    }
}

#[test]
fn several_guardrails_count_by_their_smallest_margin_and_all_their_signals() {
    let three = bounds(&Setting {
        margins: vec![0.3, 0.1, 0.2],
        ..setting()
    });
    assert_eq!(three.signals, 4 + 3 * 3);
    assert_eq!(three.regret, regret(4.0, 1e5, 0.1, 13.0, 0.01, 0.01));
    assert_eq!(three.t_zero, t_zero_range(100_000, 0.1, 0.5));
}

#[test]
fn bounds_move_the_way_they_must() {
    let base = bounds(&setting());
    let wider = bounds(&Setting {
        margins: vec![0.4],
        ..setting()
    });
    assert!(wider.regret < base.regret && wider.regret_as_printed < base.regret_as_printed);
    assert!(wider.lower_margin < base.lower_margin && wider.t_zero < base.t_zero);
    let longer = bounds(&Setting {
        horizon: 1_000_000,
        ..setting()
    });
    assert!(longer.regret > base.regret && longer.lower_minimax > base.lower_minimax);
    assert!(longer.hoeffding_radius < base.hoeffding_radius);
    let more_arms = bounds(&Setting {
        arms: 8,
        ..setting()
    });
    assert!(more_arms.regret > base.regret && more_arms.lower_minimax > base.lower_minimax);
    let surer = bounds(&Setting {
        delta: 0.001,
        ..setting()
    });
    assert!(surer.regret > base.regret && surer.hoeffding_radius > base.hoeffding_radius);
    assert!(base.lower_minimax < base.regret && base.lower_margin < Some(base.regret));
}

#[test]
fn one_arm_has_nothing_to_learn_and_no_lower_bound() {
    let one = bounds(&Setting {
        arms: 1,
        ..setting()
    });
    assert_eq!(one.signals, 1);
    assert_eq!(one.lower_minimax, 0.0);
}

#[test]
fn bad_settings_are_refused_by_field() {
    let with = |change: fn(&mut Setting)| {
        let mut changed = setting();
        change(&mut changed);
        changed.bounds()
    };
    let cases: [(&str, Result<Bounds, Error>); 12] = [
        ("arms", with(|s| s.arms = 0)),
        ("horizon", with(|s| s.horizon = 0)),
        ("delta", with(|s| s.delta = 0.0)),
        ("delta", with(|s| s.delta = 1.0)),
        ("delta", with(|s| s.delta = f64::NAN)),
        ("sub-gaussian", with(|s| s.r = 0.0)),
        ("sub-gaussian", with(|s| s.r = f64::INFINITY)),
        ("margin", with(|s| s.margins.clear())),
        ("margin", with(|s| s.margins = vec![0.0])),
        ("margin", with(|s| s.margins = vec![0.2, -0.1])),
        ("margin", with(|s| s.margins = vec![1.01])),
        ("margin", with(|s| s.margins = vec![f64::NAN])),
    ];
    for (i, (expected, result)) in cases.into_iter().enumerate() {
        match result {
            Err(Error::Invalid { field, .. }) => assert_eq!(field, expected, "case {i}"),
            other => panic!("case {i}: {other:?}"),
        }
    }
}
