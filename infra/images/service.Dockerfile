# The service, and every other command of `sojourn`. Build it from the root of the repository:
#   docker build -f infra/images/service.Dockerfile -t sojourn:0.1.0 .
# It is for a user without rights and a read-only root: only /var/sojourn and /tmp are written to. Its steps were run in a clean root
# (infra/images/try-in-a-root.sh), not in a container engine.
# Its default command needs keys (SOJOURN_API_KEYS), or --without-keys where others protect it: it leaves the loopback.
FROM rust:1-slim-trixie AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN infra/setup/uv.sh install && infra/wheel/build.sh /dist

FROM debian:trixie-slim
COPY infra/images/prepare-root.sh infra/images/install-service.sh /usr/local/lib/sojourn/
RUN /usr/local/lib/sojourn/prepare-root.sh
COPY --from=build /dist/*.whl /dist/
RUN /usr/local/lib/sojourn/install-service.sh /dist && rm -r /dist
USER 10001:10001
ENV PATH=/opt/sojourn/bin:/usr/bin:/bin SOJOURN_VAR=/var/sojourn HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /var/sojourn
VOLUME /var/sojourn
EXPOSE 8000
ENTRYPOINT ["sojourn"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
