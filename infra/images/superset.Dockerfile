# Superset with Sojourn's dashboards, in an environment of its own. Build it from the root of the repository:
#   docker build -f infra/images/superset.Dockerfile -t sojourn-superset:0.1.0 .
# It is for a user without rights and a read-only root: only /var/sojourn and /tmp are written to. It was not run in a container engine.
FROM debian:trixie-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends build-essential ca-certificates python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/sojourn
COPY infra/setup/uv.sh infra/setup/
RUN infra/setup/uv.sh install
COPY dashboards dashboards
COPY infra/superset infra/superset
RUN "$(infra/setup/uv.sh path)" sync --locked --no-dev --compile-bytecode --project dashboards && rm -rf var

FROM debian:trixie-slim
COPY infra/images/prepare-root.sh /usr/local/lib/sojourn/
RUN /usr/local/lib/sojourn/prepare-root.sh
COPY --from=build /opt/sojourn /opt/sojourn
USER 10001:10001
ENV PATH=/opt/sojourn/dashboards/.venv/bin:/usr/bin:/bin SOJOURN_VAR=/var/sojourn HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /var/sojourn
VOLUME /var/sojourn
EXPOSE 8088
ENTRYPOINT ["sojourn-superset"]
CMD ["serve", "--port", "8088"]
