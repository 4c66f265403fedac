#!/bin/sh
# Lets the image be started with the program's own words (`run ...`) and with a whole command
# (`python facefusion.py run ...`, `sh`).
set -eu

case "${1:-}" in
    python | python3 | sh | bash | /*) ;;
    *) set -- python facefusion.py "$@" ;;
esac

exec "$@"
