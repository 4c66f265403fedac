# FaceFusion with its embedded models: command line, HTTP API and worker in one image.
#
#   docker build -t facefusion .                              # NVIDIA card: driver 580 or newer, NVIDIA Container Toolkit
#   docker build -t facefusion:cpu --build-arg VARIANT=cpu .  # processor
#   docker run --rm --gpus all -v "$PWD:/app/output" facefusion run -s output/me.jpg -t output/clip.mp4 -o output/result.mp4
#
# Build arguments: VARIANT (cuda or cpu), TZ (time zone, such as Europe/Berlin), UID (of the user that it runs as).
# Behind a package mirror: --secret id=pip,src=pip.conf; what is in that file does not end up in the image.
# How it is used: docs/production.md.

ARG VARIANT=cuda

# CUDA 13.0 and cuDNN 9, which the pinned onnxruntime-gpu is built with (a test compares the two), on Python 3.12.
FROM nvidia/cuda:13.0.3-cudnn-runtime-ubuntu24.04 AS system-cuda
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility,video

FROM ubuntu:24.04 AS system-cpu

# hadolint ignore=DL3006
FROM system-${VARIANT} AS system
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ARG TZ=Etc/UTC
ENV TZ=${TZ} \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# ca-certificates vouch for who is asked over HTTPS: a bucket, an issuer of tokens, who is called at a job's end. ffmpeg is for the
# encoders that PyAV lacks; libgl1 and libglib2.0 are for OpenCV.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates ffmpeg libgl1 libglib2.0-0t64 python3 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && test -f "/usr/share/zoneinfo/${TZ}" \
    && ln -snf "/usr/share/zoneinfo/${TZ}" /etc/localtime \
    && echo "${TZ}" > /etc/timezone
WORKDIR /app

FROM system AS packages
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:${PATH}
# The pins of requirements.txt and requirements-service.txt with the hash of each file: no other file is installed.
COPY deploy/container/requirements.txt deploy/container/requirements-cpu.txt requirements-cuda.txt ./
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=cache,target=/root/.cache/pip \
    pip install --require-hashes -r requirements.txt

# A layer of their own: the largest part of the image, and the one that changes least.
FROM packages AS tensorrt-cuda
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=cache,target=/root/.cache/pip \
    grep '^tensorrt-cu13-libs==' requirements-cuda.txt | xargs pip install --no-deps --target /opt/tensorrt
# What the providers are linked with, and what they load when they need it, must be here; only the driver's own library comes
# with the card.
RUN echo /opt/tensorrt > "$(python -c 'import site; print(site.getsitepackages()[0])')/tensorrt.pth" \
    && providers="$(python -c 'import onnxruntime as o; print(o.__path__[0])')/capi" \
    && linked="$(LD_LIBRARY_PATH="/opt/tensorrt/tensorrt_libs:${LD_LIBRARY_PATH:-}" \
        ldd "${providers}/libonnxruntime_providers_cuda.so" "${providers}/libonnxruntime_providers_tensorrt.so")" \
    && if grep 'not found' <<< "${linked}" | grep -v 'libcuda.so'; then exit 1; fi \
    && python -c 'import ctypes; [ctypes.CDLL(name) for name in ("libcudnn.so.9", "libcufft.so.12", "libnvrtc.so.13")]'

FROM packages AS tensorrt-cpu
# onnxruntime-gpu works on a processor too and is much larger; the plain build has the same version (a test holds it).
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=cache,target=/root/.cache/pip \
    pip uninstall -y onnxruntime-gpu \
    && pip install --require-hashes --no-deps --force-reinstall -r requirements-cpu.txt \
    && mkdir /opt/tensorrt

# hadolint ignore=DL3006
FROM tensorrt-${VARIANT} AS models
WORKDIR /app
COPY facefusion.py ./
COPY facefusion facefusion
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=cache,target=/root/.cache/pip \
    python facefusion.py force-download --download-scope embedded \
    && python -m compileall -q --invalidation-mode unchecked-hash facefusion

FROM system
WORKDIR /app
ARG UID=1000
# The base's own user has the number that a first user has nearly everywhere, and that mounted folders so belong to.
RUN if id ubuntu > /dev/null 2>&1; then userdel --remove ubuntu; fi \
    && groupadd --gid "${UID}" facefusion \
    && useradd --create-home --uid "${UID}" --gid "${UID}" facefusion \
    && install -d -o facefusion -g facefusion models input output temp logs storage .caches .jobs .trust
COPY --from=models /opt/tensorrt /opt/tensorrt
COPY --from=models /opt/venv /opt/venv
# Beside models/, which a folder that is mounted there hides. What is fetched later goes into models/.
COPY --from=models /app/models .assets/models
COPY deploy/container/entrypoint.sh /usr/local/bin/facefusion-entrypoint
COPY deploy/container/health.py /usr/local/bin/facefusion-health
COPY facefusion.py facefusion.ini ./
COPY --from=models /app/facefusion facefusion
# A server on this container's own loopback is out of everybody's reach: with a token it listens on every address.
ENV PATH=/opt/venv/bin:${PATH} \
    TMPDIR=/app/temp \
    FACEFUSION_LISTEN_HOST=auto \
    FACEFUSION_METRICS_ADDRESS=0.0.0.0:7861 \
    FACEFUSION_STORAGE_PATH=/app/storage
USER ${UID}:${UID}
VOLUME ["/app/models", "/app/input", "/app/output", "/app/temp", "/app/logs"]
EXPOSE 7860 7861
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["python", "/usr/local/bin/facefusion-health"]
ENTRYPOINT ["facefusion-entrypoint"]
CMD ["run"]
