#!/usr/bin/env bash
# Prove, where no container engine runs, that the service works in what its containers are: the image's variables, a root
# file system that cannot be written, mounts for the folders in docker-compose.yml and nothing else, and a user without
# rights. A real Redis with its file in deploy/, an API, a worker on the processor, and the demo from upload to result.
#
#   scripts/prove_container.sh [VENV]
#
# VENV is an environment with requirements-service.txt (default: .venv). Needs root, Linux, redis-server and curl.
set -euo pipefail

repository="$(cd "$(dirname "$0")/.." && pwd)"
environment="$(realpath "${1:-$repository/.venv}")"
interpreter="$("$environment/bin/python" -c 'import sys; print(sys.base_prefix)')"
machine="$(mktemp -d -p /var/tmp)"
export repository environment interpreter machine
token="$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')"
password="$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')"
queue=16390 api=17860
folders=(models temp logs storage .caches .trust)
declare -A running=()

leave() {
    for name in "${!running[@]}"; do
        kill "${running[$name]}" 2>/dev/null || true
    done
    wait
    rm -rf --one-file-system "$machine"
    rmdir /app 2>/dev/null || true
}
trap leave EXIT

fail() {
    echo "== failed: $*" >&2
    for log in "$machine"/*.log; do
        echo "-- $log" >&2
        tail -n 5 "$log" >&2
    done
    exit 1
}

# What the image holds, and the folders that are mounted into it.
lay_out() {
    mkdir -p /app "$machine/app/.assets/models" "$machine/volumes"
    cp -r "$repository"/{facefusion.py,facefusion.ini,facefusion} "$machine/app/"
    cp "$repository/deploy/container/entrypoint.sh" "$machine/"
    for folder in "${folders[@]}" input output; do
        mkdir -p "$machine/app/$folder" "$machine/volumes/$folder"
        chown 1000:1000 "$machine/volumes/$folder"
    done
    chmod 755 "$machine"
}

# In a name space of mounts of its own: the container's view of the file system, then the command as its user.
inside() {
    mount --make-rprivate /
    # A Python in a home of root's, which others may not enter.
    if ! setpriv --reuid 1000 --clear-groups test -x "$interpreter/bin"; then
        local home
        home="/$(cut -d / -f 2 <<<"$interpreter")"
        mount --bind "$interpreter" /mnt
        mount -t tmpfs -o mode=755 tmpfs "$home"
        mkdir -p "$interpreter"
        mount --move /mnt "$interpreter"
    fi
    mount --bind "$environment" /opt
    mount --bind "$machine/app" /app
    mount --bind "$repository/models" /app/.assets/models
    mount --bind "$repository/deploy/facefusion.ini" /app/facefusion.ini
    for folder in "${folders[@]}"; do
        mount --bind "$machine/volumes/$folder" "/app/$folder"
    done
    for fixed in /opt /app /app/.assets/models /app/facefusion.ini /; do
        mount -o remount,bind,ro "$fixed"
    done
    mount -t tmpfs -o mode=1777,size=1g tmpfs /tmp
    cd /app
    exec setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
        env -i PATH=/opt/bin:/usr/bin:/bin HOME=/tmp LANG=C.UTF-8 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
        "$@"
}

# start NAME METRICS_PORT VARIABLE=VALUE... -- COMMAND...
start() {
    local name="$1" metrics="$2" variables=()
    shift 2
    while [ "$1" != -- ]; do variables+=("$1") && shift; done
    shift
    # The image's variables, as the Dockerfile has them, on ports that nobody else is likely to have.
    variables+=(TMPDIR=/app/temp FACEFUSION_STORAGE_PATH=/app/storage FACEFUSION_LISTEN_HOST=auto)
    variables+=("FACEFUSION_LISTEN_PORT=$api" "FACEFUSION_METRICS_ADDRESS=127.0.0.1:$metrics")
    variables+=(FACEFUSION_EXECUTION_PROVIDERS=cpu)
    unshare --mount bash -c "set -eu; $(declare -p folders); $(declare -f inside); inside \"\$@\"" inside \
        "${variables[@]}" "$machine/entrypoint.sh" "$@" >"$machine/$name.log" 2>&1 &
    running[$name]=$!
}

# Ends as a container does on `docker stop`, and has to be gone within the time that it is given.
stop() {
    kill -TERM "${running[$1]}"
    for _ in $(seq 240); do
        kill -0 "${running[$1]}" 2>/dev/null || { wait "${running[$1]}" && unset "running[$1]" && return; }
        sleep 0.5
    done
    fail "$1 did not end with 0 within two minutes"
}

ask() {
    curl -sS --fail -H "Authorization: Bearer $token" "$@"
}

field() {
    "$environment/bin/python" -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

wait_for() {
    for _ in $(seq 120); do
        curl -s -o /dev/null --fail "$1" && return
        sleep 0.5
    done
    fail "$1 does not answer"
}

lay_out
server="http://127.0.0.1:$api"

echo "== the articles' command without a token: up, and for this machine alone"
start alone 17861 -- run --execution-providers tensorrt
wait_for "$server/health/ready"
listening="$(ss -Hltn "sport = :$api" | awk '{print $4}')"
[ "$listening" = "127.0.0.1:$api" ] || fail "it listens on $listening"
stop alone

echo "== a queue, an API, a worker"
mkdir "$machine/redis"
sed "s#^dir /data#dir $machine/redis#" "$repository/deploy/redis/redis.conf" >"$machine/redis.conf"
printf '\nport %s\nbind 127.0.0.1\n' "$queue" >>"$machine/redis.conf"
redis-server "$machine/redis.conf" --requirepass "$password" >"$machine/redis.log" 2>&1 &
running[redis]=$!
url="redis://:$password@127.0.0.1:$queue/0"
start api 17861 "API_TOKEN=$token" "REDIS_URL=$url" -- serve
start worker 17862 "REDIS_URL=$url" -- worker
wait_for "$server/health/ready"
wait_for http://127.0.0.1:17862/health/ready
[ "$(curl -s -o /dev/null -w '%{http_code}' "$server/v1/jobs")" = 401 ] || fail "it answers without a token"

echo "== the demo, from upload to result"
source="$(ask -F "file=@$repository/assets/demo/source.jpg" "$server/v1/assets" | field id)"
target="$(ask -F "file=@$repository/assets/demo/target.mp4" "$server/v1/assets" | field id)"
job="$(ask -H 'Content-Type: application/json' -d "{\"sources\": [\"$source\"], \"target\": \"$target\"}" \
    "$server/v1/jobs" | field id)"
state=queued
for _ in $(seq 300); do
    kill -0 "${running[worker]}" || fail "the worker ended"
    state="$(ask "$server/v1/jobs/$job" | field state)"
    case "$state" in queued | running) sleep 1 ;; *) break ;; esac
done
[ "$state" = completed ] || fail "the job is $state"
ask -o "$machine/result.mp4" "$server/v1/jobs/$job/result"
[ "$(wc -l <"$machine/volumes/logs/audit.jsonl")" -ge 3 ] || fail "the audit log lacks lines"

echo "== both end when they are told to, and leave nothing among the temporary files"
stop worker
stop api
[ -z "$(ls -A "$machine/volumes/temp")" ] || fail "left: $(ls -A "$machine/volumes/temp")"
ls -l "$machine/result.mp4" | awk '{print "== proved: a result of", $5, "bytes"}'
