//! JSON paths of response templates (S-30).
