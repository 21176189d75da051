//! `Debug` for types that show only some of their fields.

/// Implements `Debug` for a type whose other fields are secret, long, or of no use in a log.
/// `debug_fields!(Type: field)` shows the field. `debug_fields!(Type, value: name = expression)`
/// shows the result of `expression` under `name`; `value` is the name of the instance in
/// `expression`.
macro_rules! debug_fields {
    ($type:ident $(<$lifetime:lifetime>)? $(: $($field:ident),+)?) => {
        debug_fields!($type $(<$lifetime>)?, value: $($($field = value.$field),+)?);
    };
    ($type:ident $(<$lifetime:lifetime>)?, $value:ident: $($name:ident = $shown:expr),*) => {
        impl core::fmt::Debug for $type $(<$lifetime>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                #[allow(unused_variables, reason = "a type may show no field")]
                let $value = self;
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($name), &$shown))*
                    .finish_non_exhaustive()
            }
        }
    };
}
