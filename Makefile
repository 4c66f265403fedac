# make run    sets up and swaps the demo's face; the last line printed is the result's path
# make test   sets up and runs the tests, as many at once as there are cores (ARGUMENTS="-n 0": one after the other)
# make test-long  sets up and runs the long proofs, one after the other: kills at many moments, long videos, a thousand
#             jobs in one process, a queue of ten thousand, an hour of broken files of every kind (another time with
#             FACEFUSION_FUZZ_MINUTES)
# make test-service  sets up with the packages of the service and runs its tests, which need programs of Debian's packages
#             redis-server, prometheus, prometheus-alertmanager, nginx-light and libimage-exiftool-perl, and fails where
#             one is missing
# make test-service-long  the same for its long proofs: ten thousand jobs, a job that kills workers
# make speed  sets up, measures for half a minute and warns where a run takes longer over its floor than is kept
# make check  sets up and runs the formatter, the linter, the type checker, the import contracts
#             and the comparison of generated files with what they are made from, licences too; looks for known
#             vulnerabilities of the pinned packages, and says where it cannot
# make generate  writes facefusion.ini, docs/options.md and docs/licences.md anew
# make release-check  what `make check` does, and writes the bill of materials of packages and models to dist/
# make clean  removes what the above made, but for fetched models
#
# PYTHON names the interpreter to set up with (default: python3), VENV the environment's folder (default: .venv).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: run test test-long test-service test-service-long speed check release-check setup setup-development setup-service generate clean

run: setup
	@mkdir -p output
	@$(BIN)/python facefusion.py run -s assets/demo/source.jpg -t assets/demo/target.mp4 -o output/demo.mp4

test: setup-development
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGUMENTS)

test-long: setup-development
	@$(BIN)/python -m pytest -m "slow and not gpu and not service" $(ARGUMENTS)

test-service: setup-service
	@$(BIN)/python scripts/check_service_programs.py
	@$(BIN)/python -m pytest -m "service and not gpu and not slow" $(ARGUMENTS)

test-service-long: setup-service
	@$(BIN)/python scripts/check_service_programs.py
	@$(BIN)/python -m pytest -m "service and slow and not gpu" $(ARGUMENTS)

speed: setup-development
	@$(BIN)/python scripts/check_speed.py $(ARGUMENTS)

# The type checker has to see the packages that the service is built on.
check: setup-service
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m facefusion.cli.generate --check
	$(BIN)/python -m scripts.make_licences --check
	$(BIN)/python -m scripts.audit_packages

release-check: check
	$(BIN)/python -m scripts.make_sbom

generate: setup-development
	@$(BIN)/python -m facefusion.cli.generate
	@$(BIN)/python -m scripts.make_licences

setup:
	@$(PYTHON) scripts/setup_environment.py --environment $(VENV)

setup-development:
	@$(PYTHON) scripts/setup_environment.py --environment $(VENV) --development

setup-service:
	@$(PYTHON) scripts/setup_environment.py --environment $(VENV) --development --service

clean:
	rm -rf $(VENV) dist output/demo.mp4 .caches .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find facefusion scripts tests -name __pycache__ -prune -exec rm -rf {} +
