# Superset with Sojourn's dashboards, in an environment of its own. Build it from the root of the repository:
#   docker build -f infra/images/superset.Dockerfile -t sojourn-superset:0.1.0 .
# It is for a user without rights and a read-only root: only /var/sojourn and /tmp are written to. Its Debian is that which has Superset's Python, 3.11.
# Its steps were run in a clean root (infra/images/try-in-a-root.sh), not in a container engine.
FROM debian:bookworm-slim AS build
COPY infra/images/prepare-root.sh infra/images/install-superset.sh /usr/local/lib/sojourn/
RUN /usr/local/lib/sojourn/prepare-root.sh
WORKDIR /opt/sojourn
COPY infra/setup/uv.sh infra/setup/
COPY infra/superset infra/superset
COPY api/client api/client
COPY dashboards dashboards
RUN /usr/local/lib/sojourn/install-superset.sh

FROM debian:bookworm-slim
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
