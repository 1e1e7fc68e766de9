#!/bin/sh
# Sends requests made from an OpenAPI document to a running service, and checks every answer against it (schemathesis).
#   CC_URL=http://localhost:8080 CC_KEY=cc_… test/fuzz-openapi.sh [options of `st run`]
#   CC_ADMIN_URL=http://localhost:8081 CC_TOKEN=cct_… CC_SESSION=… test/fuzz-openapi.sh admin [options of `st run`]
# Needs Python: pip install schemathesis. Use a service of your own, with the demo site: it stores what it is sent. CC_TOKEN is a
# token of an administrator with all scopes, CC_SESSION the value of a session cookie, for what a token may not do.
set -eu
if [ "${1-}" = admin ]; then
  shift
  # Left out: a stream, which does not end, and what ends the session.
  exec st --config-file "$(dirname "$0")/fuzz-admin.toml" run "$CC_ADMIN_URL/api/v1/openapi.json" -H 'X-CC-CSRF: 1' --checks all \
    --exclude-path /api/v1/events --exclude-name 'DELETE /api/v1/session' --exclude-name 'DELETE /api/v1/sessions' \
    --continue-on-failure "$@"
fi
exec st run "$CC_URL/docs/openapi.json" -H "X-CC-Api-Key: $CC_KEY" --checks all --phases examples,coverage --continue-on-failure "$@"
