//! Real-time notifications in CSV: rows 80 to 84 (22.8).
