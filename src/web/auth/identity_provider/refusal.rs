//! The reasons why a person cannot log in with the identity provider.

use crate::http::error::ApiError;

/// The reason why a person cannot log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The browser has not begun the log-in, or too long ago.
    NotBegun,
    /// The provider did not let the person log in.
    ByProvider,
    /// The provider did not redeem the code.
    Unconfirmed,
    /// The token of the provider is not acceptable; the text is the reason.
    Token(&'static str),
    /// The token names no person who could be a user.
    NoUser,
    /// The user with the name of the person was created otherwise.
    OtherUser,
    /// The user of the person is disabled.
    Disabled,
}

impl Refusal {
    /// Returns the reason for people.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::NotBegun => "this browser has not begun the log-in, or too long ago; begin again",
            Self::ByProvider => "the identity provider refused the log-in",
            Self::Unconfirmed => "the identity provider did not confirm the log-in; try again",
            Self::Token(reason) => reason,
            Self::NoUser => "its claims name no user",
            Self::OtherUser => "its user was not created by the identity provider",
            Self::Disabled => "its user is disabled",
        }
    }

    /// Returns the word by which the console knows the reason.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::NotBegun => "begin",
            Self::ByProvider => "refused",
            Self::Unconfirmed => "unconfirmed",
            Self::Token(_) => "token",
            Self::NoUser => "user",
            Self::OtherUser => "password",
            Self::Disabled => "disabled",
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::forbidden_because(refusal.reason())
    }
}
