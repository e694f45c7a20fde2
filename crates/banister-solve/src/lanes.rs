//! Vector lanes: the width of a chunk, and the choice of instructions at run time.
//!
//! No instruction fuses a product with a sum, and every number is made by the same operations in the
//! same order whatever the vector width: results are the same bits on every CPU.

/// Width of a chunk: a few vector registers on any machine.
pub(crate) const LANES: usize = 8;

/// Defines a function for the vectors every machine has, for AVX2 and for AVX-512, and chooses when
/// called. A macro, as the compiler takes the wider vectors only into functions it must inline.
macro_rules! wide {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $kind),*) $(-> $out)? {
            #[inline(always)]
            fn kernel($($arg: $kind),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn widest($($arg: $kind),*) $(-> $out)? {
                    kernel($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $kind),*) $(-> $out)? {
                    kernel($($arg),*)
                }
                // SAFETY: the processor has just been asked whether it knows these instructions.
                #[allow(unsafe_code)]
                if std::arch::is_x86_feature_detected!("avx512f") {
                    return unsafe { widest($($arg),*) };
                } else if std::arch::is_x86_feature_detected!("avx2") {
                    return unsafe { wide($($arg),*) };
                }
            }
            kernel($($arg),*)
        }
    };
}
pub(crate) use wide;
