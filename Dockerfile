# The server in a container; see docs/guide/operation.md, "In a container".
#
#   docker build -t platform .
#   docker run -p 8080:8080 -v platform:/var/lib/platform platform
#
# `docker logs` shows the passwords of the first start.

FROM rust:1.95-trixie AS build
# What `./setup` installs, without PostgreSQL. Node builds the console.
RUN apt-get update \
    && apt-get install -y --no-install-recommends make nodejs npm \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --locked --profile dist -p platform

FROM debian:trixie-slim
# The programs of PostgreSQL are for the private PostgreSQL, and for backups of a server of yours.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates postgresql \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /var/lib/platform platform \
    && install -d -o platform -g platform -m 0750 /var/lib/platform
COPY --from=build /source/target/dist/platform /usr/bin/platform
USER platform
WORKDIR /var/lib/platform
ENV PLATFORM_LISTEN=0.0.0.0:8080 PLATFORM_DATA_DIR=/var/lib/platform
VOLUME /var/lib/platform
EXPOSE 8080
# It asks whether the server responds, not whether it is ready: an orchestrator that restarted servers while the
# database is away would end their sessions.
HEALTHCHECK --interval=15s --timeout=10s --start-period=120s --retries=3 CMD ["platform", "status", "--live"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["platform"]
