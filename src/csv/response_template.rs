//! Response templates: from JSON to lines (22.4).
