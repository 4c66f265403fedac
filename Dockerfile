# FaceFusion with its embedded models, for an NVIDIA card (driver 580 or newer, NVIDIA Container Toolkit) or a processor.
#
#   docker build -t facefusion .
#   docker run --rm --gpus all -v "$PWD:/app/output" facefusion run -s output/me.jpg -t output/clip.mp4 -o output/result.mp4
#
# CUDA, cuDNN and TensorRT come from the pinned packages, so the base holds nothing but Python.
# For an image without them: --build-arg SETUP_OPTIONS=

FROM python:3.12-slim-bookworm

ARG SETUP_OPTIONS=--cuda

ENV LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility,video

WORKDIR /app

# Packages first: they change less often than the code.
COPY requirements*.txt ./
COPY scripts/setup_environment.py scripts/
RUN python scripts/setup_environment.py --environment /opt/venv $SETUP_OPTIONS
ENV PATH=/opt/venv/bin:$PATH

COPY facefusion.py facefusion.ini ./
COPY facefusion facefusion

# Beside models/, which a folder mounted there would hide; what is fetched later goes into models/.
RUN python facefusion.py force-download --download-scope embedded && mkdir .assets && mv models .assets/models

RUN useradd --create-home --uid 1000 facefusion \
    && mkdir -p models input output temp logs .caches \
    && chown facefusion: models input output temp logs .caches
USER facefusion
ENV FACEFUSION_TEMP_PATH=/app/temp
VOLUME ["/app/models", "/app/input", "/app/output", "/app/temp", "/app/logs"]

EXPOSE 7860

ENTRYPOINT ["python", "facefusion.py"]
CMD ["run"]
