// What ran on this page, for whoever drives the browser.
window.outcome = { classic: true };
