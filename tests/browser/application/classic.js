// The scripts that ran on this page, which the test reads.
window.outcome = { classic: true };
