# The commands of this project; `just` lists them. Each is one line that can be typed without `just` as well.

# List the commands.
_default:
    @just --list --unsorted

# Start the server; everything it keeps is in ./platform-data. Flags follow: `just run --listen 127.0.0.1:0`.
run *flags:
    cargo run --release -- {{ flags }}

# Install what the server needs, or with --test or --ci also what tests and CI need.
setup *scope:
    ./setup {{ scope }}

# All tests, or those whose names contain the given words.
test *words:
    cargo test --workspace {{ words }}

# Lints; a warning is an error.
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# Format everything.
fmt:
    cargo fmt --all

# Files over 400 lines, which should be split by story; silent when there are none.
sizes:
    @git ls-files --cached --others --exclude-standard '*.rs' '*.sql' | xargs -r -d '\n' wc -l | awk '$1 > 400 && $2 != "total"'

# The load test against a running server; a scenario may follow: `just load fanout --clients 1000`.
load *scenario="run loadtest/scenarios/fleet.toml":
    cargo run --release -p loadtest -- {{ scenario }}

# Licences, versions, sources and advisories of the dependencies (needs cargo-deny).
deny:
    cargo deny check

# The Debian package (needs cargo-deb and dpkg-dev), in target/debian.
package:
    ops/deb/build

# What CI runs: formatting, lints, tests, the package.
check:
    .ci/run

# Tag the version of Cargo.toml and CHANGELOG.md after all checks (docs/releasing.md); pushes nothing.
release:
    ops/release
