# Data and model files are in volumes; the bot runs as an unprivileged user.
#   docker build -t sutradhar .
#   docker run --rm -it -v sutradhar-data:/data -v sutradhar-models:/models sutradhar models pull
#   docker run --rm -it -v sutradhar-data:/data -v sutradhar-models:/models sutradhar
#   docker run -d -e DISCORD_TOKEN -v sutradhar-data:/data -v sutradhar-models:/models sutradhar run
#   docker run -d -e SLACK_BOT_TOKEN -e SLACK_APP_TOKEN -v sutradhar-data:/data -v sutradhar-models:/models sutradhar run

FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /app
RUN python -m venv /opt/venv
COPY requirements.lock ./
RUN /opt/venv/bin/python -m pip install -qq --no-deps --require-hashes -r requirements.lock
COPY LICENSE prompts.yml config.toml.example ./
COPY docs ./docs
COPY examples ./examples
COPY bot ./bot
COPY cogs ./cogs
COPY storage ./storage
RUN /opt/venv/bin/python -m compileall -q bot cogs storage

FROM python:3.13-slim-trixie
ENV PATH="/opt/venv/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    SUTRADHAR_DATA=/data \
    SUTRADHAR_LISTEN=127.0.0.1:9090 \
    SUTRADHAR_MODELS=/models
# For the demo model's runtime.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin sutradhar
# Several containers share /files (compose.yaml).
RUN mkdir -p /data /files /models && chown 10001:10001 /data /files /models
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
# Only for Slack over HTTP (docs/slack.md); everything else makes outgoing connections.
EXPOSE 3000
VOLUME ["/data", "/models"]
# Only for `run`: a chat listens on no port.
HEALTHCHECK --interval=60s --timeout=20s --start-period=120s \
    CMD ["/bin/sh", "-c", "! grep -qzx run /proc/1/cmdline || exec python -m bot doctor --live"]
ENTRYPOINT ["python", "-m", "bot"]
CMD ["chat"]
