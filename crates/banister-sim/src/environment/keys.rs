//! Keys of a kind of environment.

/// Declares a struct of optional keys: absent ones are not written, and those of other kinds are refused.
macro_rules! keys {
    ($(#[$about:meta])* $name:ident { $($(#[$attribute:meta])* $key:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$attribute])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $key: Option<$type>,)*
        }
    };
}

pub(super) use keys;
