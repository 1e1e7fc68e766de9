#!/bin/sh
# Sends requests made from the OpenAPI document to a running service, and checks every answer against it (schemathesis).
#   CC_URL=http://localhost:8080 CC_KEY=cc_… test/fuzz-openapi.sh [options of `st run`]
# Needs Python: pip install schemathesis. Use a service of your own: it stores what it is sent.
set -eu
exec st run "$CC_URL/docs/openapi.json" -H "X-CC-Api-Key: $CC_KEY" --checks all --phases examples,coverage --continue-on-failure "$@"
