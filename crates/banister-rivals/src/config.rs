//! Blocks of parameters that rivals share, for [`config!`].

pub(crate) use banister::toolkit::{DELTA, Registered, config};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parameters that a rival keeps for its snapshots.
pub(crate) trait RivalConfig:
    Registered + Serialize + DeserializeOwned + Clone + Send + 'static
{
}

impl<C: Registered + Serialize + DeserializeOwned + Clone + Send + 'static> RivalConfig for C {}

/// The way of playing parts of actions, and the promise that follows from it.
macro_rules! play {
    (@ $head:tt [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] $($keys:tt)*) => {
        banister::toolkit::config! {
            @ $head [
                $($field)*
                /// Way of playing a part of an action: `scaled`, the default, or `mixed` with the safe action.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub play: Option<banister::toolkit::Play>,
            ] [$($default)* play: None,] [
                $($method)*
                fn guarantee(&self) -> banister::guarantee::Guarantee {
                    banister::toolkit::Play::guarantee(self.play)
                }
                fn play(&mut self) -> Option<&mut Option<banister::toolkit::Play>> {
                    Some(&mut self.play)
                }
            ] $($keys)*
        }
    };
}

/// δ, `radius`, λ, S and L of a ridge regression.
macro_rules! regression {
    (@ ([$($doc:tt)*] $name:ident $($head:tt)*)
        [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] $($keys:tt)*
    ) => {
        impl $name {
            fn parameters(&self) -> crate::parameters::Parameters {
                crate::parameters::Parameters {
                    delta: Some(self.delta),
                    radius: self.radius,
                    lambda: self.lambda,
                    parameter_norm: self.parameter_norm,
                    norm: self.norm,
                }
            }
        }
        banister::toolkit::config! {
            @ ([$($doc)*] $name $($head)*) [
                $($field)*
                /// δ: probability with which some confidence set may fail; by default 0.01.
                pub delta: f64,
                /// Width of the confidence sets; by default `logdet`.
                pub radius: banister::oplb::Radius,
                /// λ, the ridge; by default 1.
                pub lambda: f64,
                /// S: every unknown parameter is at most this long, in units of its signal's range; to be
                /// declared, or √K where arms are their own features and means at most one range.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub parameter_norm: Option<f64>,
                /// L: every feature vector is at most this long; unchecked by default (`paper` radii need it).
                #[serde(skip_serializing_if = "Option::is_none")]
                pub norm: Option<f64>,
            ] [
                $($default)*
                delta: banister::toolkit::DELTA,
                radius: banister::oplb::Radius::default(),
                lambda: 1.0,
                parameter_norm: None,
                norm: None,
            ] [
                $($method)*
                fn delta_mut(&mut self) -> Option<&mut f64> {
                    Some(&mut self.delta)
                }
                fn linear(&mut self) -> Option<banister::toolkit::LinearKeys<'_>> {
                    Some(banister::toolkit::LinearKeys {
                        lambda: None,
                        parameter_norm: &mut self.parameter_norm,
                        norm: self.norm,
                    })
                }
            ] $($keys)*
        }
    };
}

/// As [`regression`], with the choice of the radii that HPLC-LUCB's authors ran it with.
macro_rules! own_radii {
    (@ ([$($doc:tt)*] $name:ident $($head:tt)*)
        [$($field:tt)*] [$($default:tt)*] [$($method:tt)*] $($keys:tt)*
    ) => {
        impl $name {
            fn parameters(&self) -> crate::parameters::Parameters {
                crate::parameters::Parameters {
                    delta: self.radius.delta(self.delta),
                    radius: banister::oplb::Radius::Logdet,
                    lambda: self.lambda.unwrap_or(self.radius.lambda()),
                    parameter_norm: self.parameter_norm,
                    norm: None,
                }
            }
        }
        banister::toolkit::config! {
            @ ([$($doc)*] $name $($head)*) [
                $($field)*
                /// Width of the confidence sets: `authors`, the default, as in the authors' runs, or `logdet`, as
                /// other agents have it.
                pub radius: crate::parameters::StageRadius,
                /// δ of the confidence sets. By default it falls as 1/(1 + log entries) with `authors` radii, as in
                /// the authors' runs, and is 0.01 with `logdet`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub delta: Option<f64>,
                /// Outcomes per log entry, which δ of `authors` radii falls with unless it is given; by default 1.
                /// The authors' runs have 100 for 10⁶ rounds and fewer, and 1000 for 10⁷.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub log_every: Option<u64>,
                /// Factor on the noise constant R in the first term of `authors` radii; by default 2, as in the
                /// authors' runs. Below 1 it voids the guarantee.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub noise_factor: Option<f64>,
                /// λ, the ridge; by default 0.1 with `authors` radii, 1 with `logdet`.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub lambda: Option<f64>,
                /// S: every unknown parameter is at most this long, in units of its signal's range; to be
                /// declared.
                #[serde(skip_serializing_if = "Option::is_none")]
                pub parameter_norm: Option<f64>,
            ] [
                $($default)*
                radius: crate::parameters::StageRadius::default(),
                delta: None,
                log_every: None,
                noise_factor: None,
                lambda: None,
                parameter_norm: None,
            ] [
                $($method)*
                fn delta_mut(&mut self) -> Option<&mut f64> {
                    self.delta.as_mut()
                }
                fn linear(&mut self) -> Option<banister::toolkit::LinearKeys<'_>> {
                    Some(banister::toolkit::LinearKeys {
                        lambda: Some((&mut self.lambda, self.radius.lambda())),
                        parameter_norm: &mut self.parameter_norm,
                        norm: None,
                    })
                }
            ] $($keys)*
        }
    };
}

pub(crate) use {own_radii, play, regression};
