//! Errors of functions: a diagnostic in a box, so that results stay small.

/// Declares a crate's error type: a [`Diagnostic`](crate::Diagnostic) in a box, with its fields and its
/// `Display`.
#[macro_export]
macro_rules! error {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(Box<$crate::Diagnostic>);

        impl std::ops::Deref for $name {
            type Target = $crate::Diagnostic;

            fn deref(&self) -> &$crate::Diagnostic {
                &self.0
            }
        }

        impl $name {
            /// The error for a diagnostic.
            fn of(diagnostic: $crate::Diagnostic) -> $name {
                $name(Box::new(diagnostic))
            }
        }

        impl From<$name> for $crate::Diagnostic {
            fn from(error: $name) -> $crate::Diagnostic {
                *error.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl std::error::Error for $name {}
    };
}
