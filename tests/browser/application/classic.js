// The outcome of this page, for the test that drives the browser.
window.outcome = { classic: true };
