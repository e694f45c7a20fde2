//! The theory calculator against its formulas, typed again from the specification.

use banister::Error;
use banister::theory::{
    Bounds, LinearBounds, LinearSetting, Setting, lower_bound_margin, lower_bounds_best_margin,
    regret, t_zero_range,
};

fn setting() -> Setting {
    Setting {
        arms: 4,
        horizon: 100_000,
        margins: vec![0.2],
        best_margin: None,
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
            best_margin: None,
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
        match found.lower_minimax {
            Some(bound) => {
                assert!(close(bound, ((kf - 1.0) * tf).sqrt() / 27.0) && bound <= tf);
            }
            None => assert!(tf < kf - 1.0),
        }
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

/// Expected loss of the best policy that is safe on both instances L1, for one that knows every mean but not which
/// of the two it plays: it has to mix until the larger of the two costs keeps 1/2.
fn loss_on_l1(best_margin: f64, horizon: u64) -> f64 {
    let t = horizon as f64;
    let moved = 1.0 / (8.0 * t.sqrt());
    t * 0.5 * moved / (best_margin + moved)
}

#[test]
fn bounds_by_the_best_margin_need_their_instances() {
    for (margin, best, t) in [
        (0.01, 0.1, 100_000_u64),
        (0.02, 0.125, 10_000),
        (0.0125, 0.05, 1600),
    ] {
        let found = bounds(&Setting {
            margins: vec![margin],
            best_margin: Some(best),
            horizon: t,
            ..setting()
        });
        let (root, search) = found.lower_best_margin;
        let root = root.expect("√T/(32ρ)");
        assert!(close(root, (t as f64).sqrt() / 32.0 / best));
        // At most, and at least half of, what even a policy loses that knows the means but not which instance it plays.
        let floor = loss_on_l1(best, t);
        assert!(
            floor >= root && floor <= 2.0 * root,
            "{floor} beside {root}"
        );
        assert!(close(
            search.expect("1/(1152Δρ)"),
            1.0 / (1152.0 * margin * best)
        ));
    }
    // ρ above 1/8, below Δ or below 4Δ, and fewer rounds than 1/(Δρ).
    let t = 1 << 20;
    assert_eq!(lower_bounds_best_margin(0.01, 0.126, t), (None, None));
    assert_eq!(lower_bounds_best_margin(0.11, 0.1, t), (None, None));
    let (root, search) = lower_bounds_best_margin(0.026, 0.1, t);
    assert!(root.is_some() && search.is_none());
    assert_eq!(lower_bounds_best_margin(0.01, 0.1, 999), (None, None));
    let (root, search) = lower_bounds_best_margin(0.01, 0.1, 1001);
    assert!(root.is_some() && search.is_some());
    assert_eq!(bounds(&setting()).lower_best_margin, (None, None));
    for best in [0.1, 1.5, f64::NAN] {
        let refused = Setting {
            best_margin: Some(best),
            ..setting()
        };
        let error = refused.bounds().expect_err("outside");
        assert!(error.to_string().contains("best-margin"), "{error}");
    }
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
    assert!(base.lower_minimax < Some(base.regret) && base.lower_margin < Some(base.regret));
}

#[test]
fn one_arm_has_nothing_to_learn_and_no_lower_bound() {
    let one = bounds(&Setting {
        arms: 1,
        ..setting()
    });
    assert_eq!(one.signals, 1);
    assert_eq!(one.lower_minimax, Some(0.0));
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

fn linear() -> LinearSetting {
    LinearSetting {
        dimension: 8,
        horizon: 100_000,
        margins: vec![0.25],
        delta: 0.01,
        r: 0.5,
        norm: 1.0,
        parameter_norm: 1.0,
        lambda: 1.0,
    }
}

#[test]
fn every_linear_number_follows_its_formula() {
    for (d, t, margins, delta, r, l, s, lambda) in [
        (
            2_usize,
            10_000_u64,
            vec![0.5],
            0.05_f64,
            0.5_f64,
            1.0_f64,
            1.0_f64,
            1.0_f64,
        ),
        (1, 1, vec![1.0], 0.5, 2.0, 0.25, 3.0, 0.0625),
        (32, 1_000_000, vec![0.3, 0.2], 0.01, 0.5, 2.0, 1.5, 7.0),
    ] {
        let margin = margins.iter().copied().fold(1.0, f64::min);
        let found = LinearSetting {
            dimension: d,
            horizon: t,
            margins: margins.clone(),
            delta,
            r,
            norm: l,
            parameter_norm: s,
            lambda,
        };
        let found = found.bounds().expect("valid");
        let (df, tf, level) = (d as f64, t as f64, delta / (margins.len() + 1) as f64);
        let ratio = l * l / lambda;
        let logdet =
            r * (df * (1.0 + tf * ratio / df).ln() - 2.0 * level.ln()).sqrt() + lambda.sqrt() * s;
        let paper = |level: f64| {
            r * (df * ((1.0 + (tf - 1.0) * ratio) / level).ln()).sqrt() + lambda.sqrt() * s
        };
        assert!(close(found.logdet_radius, logdet));
        assert!(close(found.paper_radius, paper(level)));
        let alpha_r = 1.0 + 2.0 / margin;
        assert!(close(found.alpha_r, alpha_r));
        let brackets = (2.0 * tf * df * (1.0 + tf * ratio / df).ln()).sqrt()
            + l / lambda.sqrt() * (tf / 2.0 * -delta.ln()).sqrt();
        assert!(close(found.regret, (alpha_r + 1.0) * logdet * brackets));
        assert!(close(
            found.regret_paper_radius,
            (alpha_r + 1.0) * paper(level) * brackets
        ));
        let printed = 2.0 * l * (alpha_r + 1.0) * paper(delta) / lambda.sqrt()
            * (2.0 * tf * -delta.ln()).sqrt()
            + (alpha_r + 1.0) * paper(delta) * (2.0 * tf * df * (1.0 + tf * ratio).ln()).sqrt();
        assert!(close(found.regret_as_printed, printed));
        assert_eq!(found.t_zero, t_zero_range(t, margin, r));
        assert_eq!(found.signals, margins.len() + 1);
    }
}

#[test]
fn linear_bounds_move_the_way_they_must() {
    let base = linear().bounds().expect("valid");
    let with = |change: fn(&mut LinearSetting)| {
        let mut changed = linear();
        change(&mut changed);
        changed.bounds().expect("valid")
    };
    for worse in [
        with(|s| s.dimension = 16),
        with(|s| s.horizon = 200_000),
        with(|s| s.margins = vec![0.1]),
        with(|s| s.margins = vec![0.25, 0.3]),
        with(|s| s.delta = 0.001),
        with(|s| s.parameter_norm = 2.0),
    ] {
        assert!(worse.regret > base.regret && worse.regret_paper_radius > base.regret_paper_radius);
    }
    // The log-determinant pays for d once, the paper's radius also for d·ln(1/δ).
    assert!(base.logdet_radius < base.paper_radius);
    assert!(base.regret < base.regret_as_printed);
    // Units do not matter: features twice as long, parameters half as long, λ four times.
    let scaled = with(|s| (s.norm, s.parameter_norm, s.lambda) = (2.0, 0.5, 4.0));
    assert!(
        close(scaled.regret, base.regret)
            && close(scaled.regret_as_printed, base.regret_as_printed)
    );
}

#[test]
fn bad_linear_settings_are_refused_by_field() {
    let with = |change: fn(&mut LinearSetting)| {
        let mut changed = linear();
        change(&mut changed);
        changed.bounds()
    };
    let cases: [(&str, Result<LinearBounds, Error>); 8] = [
        ("dimension", with(|s| s.dimension = 0)),
        ("horizon", with(|s| s.horizon = 0)),
        ("margin", with(|s| s.margins = vec![0.0])),
        ("delta", with(|s| s.delta = 2.0)),
        ("feature-norm", with(|s| s.norm = -1.0)),
        ("parameter-norm", with(|s| s.parameter_norm = f64::NAN)),
        ("lambda", with(|s| s.lambda = 0.0)),
        // Below L² the widths of the first rounds are not bounded as the proof needs.
        ("lambda", with(|s| s.lambda = 0.99)),
    ];
    for (i, (expected, result)) in cases.into_iter().enumerate() {
        match result {
            Err(Error::Invalid { field, .. }) => assert_eq!(field, expected, "case {i}"),
            other => panic!("case {i}: {other:?}"),
        }
    }
}
