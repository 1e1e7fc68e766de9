# Image of Clean Conversions. It contains no database: run it with DATABASE_URL and SECRET_KEY.
# docker-compose.yml runs it with PostgreSQL and a proxy that terminates TLS.
ARG NODE_VERSION=24

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
# Rarely changed files first, so that a change of the source does not invalidate the installed dependencies.
COPY package.json package-lock.json .npmrc ./
# No dependency needs its install script.
RUN npm ci --ignore-scripts
COPY tsconfig.json nest-cli.json ./
COPY src src
COPY docs docs
COPY docs-site docs-site
# Pages of the documentation, too.
COPY CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE ./
RUN npm run build
COPY bin bin
COPY scripts/stage-package.mjs scripts/licences-document.mjs scripts/
# What npm publishes, without development dependencies. The embedded PostgreSQL is no part of it: a container has DATABASE_URL.
RUN node scripts/stage-package.mjs /package

FROM node:${NODE_VERSION}-bookworm-slim
WORKDIR /app
COPY --from=build /package ./
# The command line, under the name of the package's bin entry.
RUN ln -s /app/bin/clean-conversions.js /usr/local/bin/clean-conversions
# Contains the list of erasures. Mount a volume here, and back it up apart from the database.
RUN mkdir /data && chown node:node /data
# All interfaces of the container: the container's network decides who can reach it.
ENV HOST=0.0.0.0 DATA_DIR=/data
USER node
EXPOSE 8080
# With TLS_CERT set the service accepts only TLS, with a certificate for another name than 127.0.0.1: it is not verified here.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; fetch(`http${process.env.TLS_CERT ? 's' : ''}://127.0.0.1:${process.env.PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=32", "dist/main.js"]
