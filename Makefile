# People and CI call only the targets of this file. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Folders to ingest beside the bundled sample, separated by spaces.
DATA ?=
# Everything generated: lake, warehouse, snapshots, secrets, logs.
VAR ?= var
API_PORT ?= 8000
SUPERSET_PORT ?= 8088
# Reference data that tests read in place.
SHARED ?= ../shared
# duckdb: this machine; spark: this machine or, with SOJOURN_SPARK_MASTER, a cluster.
ENGINE ?= duckdb
# Rows of a benchmark, where its own default (ROWS_OF_…) is not wanted.
ROWS ?=
ROWS_OF_SPARK := $(or $(ROWS),50000000)
# Connections that make bench-connections generates; SCALE=full is as many as IMC'14 had.
SCALE ?=
# As many days more, so that a day has as many connections at either scale.
DAYS_OF_CONNECTIONS := $(if $(filter full,$(SCALE)),120,28)
ROWS_OF_CONNECTIONS := $(or $(ROWS),$(if $(filter full,$(SCALE)),430000000,100000000))
# Rows of the CSV that make bench-connection-files reads at the end; 0 for none.
ROWS_OF_FILES := $(or $(ROWS),80000000)
# How long make fuzz runs each target.
SECONDS_EACH ?= 1200

SAMPLE := ingest/sample/runs
# A small made-up world of connections, which the sample has none of; labelled synthetic wherever it shows.
SYNTHETIC := $(abspath $(VAR))/generated/connections
SYNTHETIC_WORLD := --rows 200000 --days 14 --seed 1
UV = $(shell infra/setup/uv.sh path)
SOJOURN := .venv/bin/sojourn
# uv names every one of hundreds of packages; what it downloads, builds and how many it installs is enough.
# What Spark needs is installed once it was asked for, and then kept.
EXTRAS = $(if $(or $(filter spark,$(ENGINE)),$(wildcard .venv/lib/python3*/site-packages/pyspark)),--extra spark)
QUIETER := sed -u '/^ [-+~] /d'

export SOJOURN_VAR := $(abspath $(VAR))
export SOJOURN_SHARED := $(abspath $(SHARED))

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-18s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  DATA='FOLDER …'    folders to ingest beside the sample, without spaces in their names (make run, make build)"
	@echo "  ENGINE=spark       the second engine instead of DuckDB (make run, make build)"
	@echo "  VAR=FOLDER         where everything generated goes (default: var)"

##@ use

.PHONY: run
run: build setup-dashboards ## Ingest, build, and serve: API on :8000, Superset on :8088, until Ctrl-C
	@exec .venv/bin/python infra/launch.py --api-port $(API_PORT) --superset-port $(SUPERSET_PORT)

.PHONY: build
build: setup ## The same without the servers
	@echo "==> ingest"
	@$(SOJOURN) generate connections $(SYNTHETIC_WORLD) --out $(SYNTHETIC) 2>/dev/null
	@$(SOJOURN) ingest --engine $(ENGINE) $(SAMPLE) $(SYNTHETIC) $(DATA)
	@echo "==> build"
	@$(SOJOURN) build --engine $(ENGINE)

##@ set up

.PHONY: setup
setup: ## Check the tools, build the decoder, install the Python environment
	@infra/setup/check.sh
	@infra/setup/uv.sh install
	@echo "==> decoder (Rust)"
	@cargo build --release --locked --manifest-path native/Cargo.toml
	@echo "==> Python environment"
	@$(UV) sync --locked --all-packages $(EXTRAS) 2>&1 | $(QUIETER)

.PHONY: setup-spark
setup-spark: ## Install the second engine too: PySpark, dbt-spark and, for a machine without Java, a Java
	@$(MAKE) setup ENGINE=spark

.PHONY: setup-dashboards
setup-dashboards: ## Install Superset's environment
	@infra/setup/uv.sh install
	@echo "==> Superset environment"
	@$(UV) sync --locked --project dashboards 2>&1 | $(QUIETER)

.PHONY: setup-tests
setup-tests: setup-spark setup-dashboards ## Install what tests need beside: Chromium and tshark, from Debian's packages, and flent
	@infra/setup/debian-packages.sh chromium tshark
	@$(UV) venv --quiet --allow-existing var/tools/flent
	@$(UV) pip install --quiet --python var/tools/flent/bin/python flent==2.1.1 numpy==2.2.6 setuptools==80.9.0

##@ develop

.PHONY: test
test: setup-tests lint test-unit test-integration test-browser ## Everything CI runs

.PHONY: lint
lint: ## Formatting, types, SQL style, import directions
	@echo "==> lint"
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@cd dashboards && .venv/bin/mypy
	@.venv/bin/lint-imports
	@cargo fmt --check --manifest-path native/Cargo.toml --all
	@cargo clippy --release --locked --manifest-path native/Cargo.toml --all-targets -- -D warnings
	@cd models && ../.venv/bin/sqlfluff lint --processes 2 staging intermediate marts

.PHONY: test-unit
test-unit: ## Fast tests: Rust, Python packages, Superset adapter
	@echo "==> unit tests"
	@cargo test --release --locked --manifest-path native/Cargo.toml --workspace --exclude sojourn-native
	@native/fuzz/run.sh 5
	@.venv/bin/pytest -q -m "not integration and not browser" ingest/tests transforms/tests api/tests
	@cd dashboards && .venv/bin/pytest -q -m "not integration" tests

.PHONY: test-integration
test-integration: ## From real files to HTTP answers, against figures computed independently
	@echo "==> integration tests"
	@.venv/bin/pytest -q -m "integration and not long" ingest/tests transforms/tests api/tests tests/integration
	@cd dashboards && .venv/bin/pytest -q -m integration tests

.PHONY: test-long
test-long: setup-tests ## What make test leaves out: a Spark worker killed in the middle of a build, and its like
	@.venv/bin/pytest -q -m long ingest/tests transforms/tests api/tests tests/integration
	@echo "==> planted truth of 10 million connections"
	@SOJOURN_TEST_WORLD_ROWS=10000000 .venv/bin/pytest -q transforms/tests/test_connection_marts_truth.py

.PHONY: test-browser
test-browser: ## The dashboard in a real browser; saves the screenshot of the README
	@echo "==> browser tests"
	@.venv/bin/python tests/browser/with_servers.py

.PHONY: fuzz
fuzz: ## Fuzz the decoder, SECONDS_EACH (1200) for each of its targets
	@native/fuzz/run.sh $(SECONDS_EACH)

.PHONY: bench-capture
bench-capture: setup ## Decoder against tcptrace, NFStream and tshark, on captures generated here (10 minutes, 9 GB)
	@$(UV) venv --quiet --allow-existing $(SOJOURN_VAR)/tools/nfstream
	@$(UV) pip install --quiet --python $(SOJOURN_VAR)/tools/nfstream/bin/python nfstream==6.6.0
	@.venv/bin/python benchmarks/capture_speed.py --nfstream-python $(SOJOURN_VAR)/tools/nfstream/bin/python

.PHONY: bench-queue
bench-queue: setup ## Queue logs of 10 million events into Parquet, binary and text (10 minutes, 2 GB of disk)
	@.venv/bin/python benchmarks/queue_log_speed.py

.PHONY: bench-connections
bench-connections: setup ## Connections in the wild against plain SQL, Polars and pandas: ROWS (100 million), or SCALE=full (430 million)
	@$(UV) venv --quiet --allow-existing $(SOJOURN_VAR)/tools/polars
	@$(UV) pip install --quiet --python $(SOJOURN_VAR)/tools/polars polars==1.35.2
	@.venv/bin/python benchmarks/connection_mart_speed.py --var $(SOJOURN_VAR)/bench-connections \
		--rows $(ROWS_OF_CONNECTIONS) --days $(DAYS_OF_CONNECTIONS) --polars-python $(SOJOURN_VAR)/tools/polars/bin/python

.PHONY: bench-connection-files
bench-connection-files: setup ## Speed and peak memory of every reader of connections, look-ups, pseudonyms, a CSV of ROWS (80 million, 5 GB of disk)
	@mkdir -p $(SOJOURN_VAR)
	@.venv/bin/python benchmarks/connection_reader_speed.py $(ROWS_OF_FILES) $(SOJOURN_VAR)

.PHONY: format
format: ## Format Python, Rust and SQL
	@.venv/bin/ruff check --fix-only .
	@.venv/bin/ruff format .
	@cargo fmt --manifest-path native/Cargo.toml --all
	@cd models && ../.venv/bin/sqlfluff fix --processes 2 staging intermediate marts

.PHONY: docs
docs: ## Write the generated parts of the documentation anew
	@.venv/bin/python -m sojourn_transforms.dbt_sources models
	@.venv/bin/python -m sojourn_transforms.documentation

.PHONY: figures
figures: setup ## Run the notebooks over the reference data; writes docs/figures
	@.venv/bin/python notebooks/execute.py --shared $(SOJOURN_SHARED) --var $(SOJOURN_VAR)/figures

.PHONY: validation
validation: setup ## Hold the testbed's runs against figures computed without Sojourn; writes docs/validation.md
	@rm -rf $(SOJOURN_VAR)/validation
	@$(SOJOURN) ingest $(SOJOURN_SHARED)/data/testbed --var $(SOJOURN_VAR)/validation
	@$(SOJOURN) build --var $(SOJOURN_VAR)/validation
	@.venv/bin/python -m sojourn_transforms.validation_report \
		$(SOJOURN_VAR)/validation $(SOJOURN_SHARED)/data/testbed/validation.csv docs/validation.md

.PHONY: bench-coverage
bench-coverage: ## Simulate how often the intervals contain the truth; writes the tables of docs/statistics.md
	@nice -n 10 .venv/bin/python benchmarks/coverage.py docs/statistics.md

.PHONY: bench-spark
bench-spark: setup-spark ## The same counting job on DuckDB and on Spark, ROWS (50000000) rows (3 GB of disk)
	@.venv/bin/python benchmarks/spark_speed.py --rows $(ROWS_OF_SPARK) --folder $(SOJOURN_VAR)/bench-spark

.PHONY: bench-models
bench-models: setup ## Build time and peak memory: the reference data, and 10 million generated flows in 100,000 runs
	@.venv/bin/python benchmarks/model_speed.py --shared $(SOJOURN_SHARED) --var $(SOJOURN_VAR)/bench-models

.PHONY: screenshot
screenshot: test-browser ## Take the README's picture of the dashboard anew
	@mkdir -p docs/images
	@dashboards/.venv/bin/python infra/setup/crop.py var/screenshots/aqm-comparison.png docs/images/aqm-comparison.png

.PHONY: clean
clean: ## Remove lake, warehouse, snapshots, Superset's own data, logs (says what; YES=1 removes)
	@infra/setup/clean.sh "$(SOJOURN_VAR)" "$(YES)"
