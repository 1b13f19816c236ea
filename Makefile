# The one entry point for people and CI: `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Your own folders, ingested beside the bundled sample: make run DATA='a b'.
DATA ?=
# Folder of everything that is generated: lake, warehouse, snapshots, secrets, logs.
VAR ?= var
API_PORT ?= 8000
SUPERSET_PORT ?= 8088
# Where the kernel and the file system of the testbed's virtual machine are kept.
TESTBED_IMAGE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sojourn/testbed-image
# Reference data for tests, which read it in place. Tests are skipped where it is missing.
SHARED ?= ../shared
# Engine of the build: duckdb, or spark (a cluster if SOJOURN_SPARK_MASTER names one).
ENGINE ?= duckdb
# The following settings are for benchmarks. ROWS overrides the number of rows of any of them.
ROWS ?=
ROWS_OF_SPARK := $(or $(ROWS),50000000)
# bench-connections: SCALE=full generates as many connections as the study IMC'14 had, over more days.
SCALE ?=
DAYS_OF_CONNECTIONS := $(if $(filter full,$(SCALE)),120,28)
ROWS_OF_CONNECTIONS := $(or $(ROWS),$(if $(filter full,$(SCALE)),430000000,100000000))
# bench-connection-files: rows of its large CSV; 0 leaves it out.
ROWS_OF_FILES := $(or $(ROWS),80000000)
# bench-capture and bench-queue: packets and events to generate; empty means their default.
PACKETS ?=
EVENTS ?=
# bench-capture: some of long, short, mix, and some of plain, gzip, zstd, xz; empty means all.
CAPTURES ?=
FORMS ?=
# bench-connection-files: PART=100 reads a hundredth of the inputs.
PART ?= 1
# bench-coverage: simulated studies per cell of its tables.
STUDIES ?= 10000
# bench-coverage-mixed: the same; fitting one study takes longer.
MIXED_STUDIES ?= 500
# bench-models: runs, flows, and flows of captures without a run.
RUNS ?= 100000
FLOWS ?= 10000000
CAPTURE_FLOWS ?= 10000000
# make fuzz: seconds for each target.
SECONDS_EACH ?= 1200
# make wheels: platforms to build for, by their names in Rust; the default is this machine.
TARGETS ?= $(shell uname -m)-unknown-linux-gnu
# Parallel processes of pytest. WORKERS=0 uses one process, which a debugger needs.
WORKERS ?= 2

SAMPLE := ingest/sample/runs
# Runs with ECN, for the dashboard "Marks". A separate folder, because tests count the runs of SAMPLE.
MARKED := ingest/sample/marks
# Measured by M-Lab: connections, and speed tests by country.
MEASURED := ingest/sample/connections ingest/sample/percentiles
# Half of the runs of the study TMA'23, as its authors published them.
PUBLISHED := ingest/sample/tma23/data
# Generated data. Every row has the flag synthetic.
SYNTHETIC := $(abspath $(VAR))/generated/connections
SYNTHETIC_WORLD := --rows 200000 --days 14 --seed 1
SYNTHETIC_ACCESS := $(abspath $(VAR))/generated/access-network
SYNTHETIC_ACCESS_NETWORK := --samples 60000 --circuits 600 --sites 12 --seed 1
UV = $(shell infra/setup/uv.sh path)
SOJOURN := .venv/bin/sojourn
# Spark's packages are installed when a target needs them, and kept from then on.
EXTRAS = $(if $(or $(filter spark,$(ENGINE)),$(wildcard .venv/lib/python3*/site-packages/pyspark)),--extra spark)
TESTS_OF_PACKAGES := ingest/tests transforms/tests api/tests testbed/tests
# Tests do not wait until what they write is on the disk: they kill processes, and never switch off the power.
UNFLUSHED = $(shell command -v eatmydata)
# The tests of one file share a process. The ten slowest tests of more than 5 s are listed at the end.
PYTEST := -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 10 --durations-min 5
# Our packages are installed as links to these folders. make setup compiles them, because uv does not.
SOURCES := ingest/src ingest/process/src transforms/src transforms/snapshot/src transforms/statistics/src api/src api/client/src testbed/src
# Hides uv's list of installed packages.
QUIETER := sed -u '/^ [-+~] /d'

# Where it is set, as in many containers, each process of pytest would compile every test again, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE
export SOJOURN_VAR := $(abspath $(VAR))
export SOJOURN_TESTBED_IMAGE := $(TESTBED_IMAGE)
export SOJOURN_SHARED := $(abspath $(SHARED))

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  \033[36m%-24s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\n\033[1m%s\033[0m\n' 'Settings, such as make run DATA=FOLDER'
	@printf '  \033[36m%-24s\033[0m %s\n' \
		"DATA='FOLDER ...'" 'folders to ingest beside the sample, without spaces in their names (run, build)' \
		'ENGINE=spark' 'Spark instead of DuckDB (run, build)' \
		'VAR=FOLDER' 'where everything generated goes (default: var)' \
		'API_PORT, SUPERSET_PORT' 'ports of the servers (run; default: 8000, 8088)' \
		'SHARED=FOLDER' 'reference data that tests and benchmarks read (default: ../shared)' \
		'WORKERS=N' 'pytest processes (test-unit, test-integration; default: 2)' \
		'ROWS=N, SCALE=full, ...' 'size of a benchmark; its setting is named in brackets (bench-…)'

##@ Use

.PHONY: run
run: ## Ingest, build, and serve: API on :8000, Superset on :8088, until Ctrl-C
	@infra/setup/check.sh
	@infra/setup/uv.sh install
	@$(MAKE) --jobs 2 build setup-dashboards
	@exec .venv/bin/python infra/launch.py --api-port $(API_PORT) --superset-port $(SUPERSET_PORT)

.PHONY: build
build: setup ## Ingest and build, without the servers
	@echo "==> ingest"
	@$(SOJOURN) generate connections $(SYNTHETIC_WORLD) --out $(SYNTHETIC) 2>/dev/null
	@$(SOJOURN) generate passive-rtt $(SYNTHETIC_ACCESS_NETWORK) --out $(SYNTHETIC_ACCESS) >/dev/null
	@$(SOJOURN) ingest --engine $(ENGINE) $(SAMPLE) $(MARKED) $(MEASURED) $(PUBLISHED) $(SYNTHETIC) $(DATA)
	@# Circuits and prefixes are of this network alone.
	@$(SOJOURN) ingest --engine $(ENGINE) $(SYNTHETIC_ACCESS)/pping --circuits $(SYNTHETIC_ACCESS)/ShapedDevices.csv \
		--prefix-table $(SYNTHETIC_ACCESS)/prefixes.csv
	@echo "==> build"
	@$(SOJOURN) build --engine $(ENGINE)

##@ Set up

.PHONY: setup
setup: ## Check the tools, build the decoder, install the Python environment
	@infra/setup/check.sh
	@infra/setup/uv.sh install
	@echo "==> Python environment and decoder (Rust), which is compiled if its sources changed: two minutes"
	@env --unset MAKEFLAGS --unset MFLAGS $(UV) sync --locked --all-packages --compile-bytecode $(EXTRAS) 2>&1 | $(QUIETER)
	@.venv/bin/python -m compileall -q $(SOURCES)
	@.venv/bin/python -m sojourn_transforms.dbt.generated models

.PHONY: setup-spark
setup-spark: ## Install Spark, and Java if the machine has none
	@$(MAKE) setup ENGINE=spark

.PHONY: setup-dashboards
setup-dashboards: ## Install Superset's environment
	@infra/setup/uv.sh install
	@echo "==> Superset environment"
	@$(UV) python find 3.11 >/dev/null 2>&1 || $(UV) python install --quiet 3.11 || { echo "error: Superset needs Python 3.11; this machine has none," \
		"and uv could not download one. Install it, or use only the service: make build, then .venv/bin/sojourn serve" >&2; exit 1; }
	@$(UV) sync --locked --project dashboards --compile-bytecode 2>&1 | $(QUIETER)

.PHONY: setup-tests
setup-tests: ## Install everything that tests need
	@infra/setup/check.sh
	@infra/setup/uv.sh install
	@$(MAKE) --jobs 2 setup-spark setup-dashboards site-generator test-tools

.PHONY: test-tools
test-tools:
	@infra/setup/debian-packages.sh chromium tshark tcptrace cpio eatmydata ffmpeg faketime
	@$(UV) venv --quiet --allow-existing var/tools/flent
	@$(UV) pip install --quiet --python var/tools/flent/bin/python flent==2.1.1 numpy==2.2.6 setuptools==80.9.0
	@$(UV) venv --quiet --allow-existing var/tools/publication
	@$(UV) pip install --quiet --python var/tools/publication/bin/python duckdb==1.5.5 duckdb-extension-httpfs==1.5.5 \
		roc-validator==0.13.0 rocrate==0.16.0
	@$(UV) venv --quiet --allow-existing var/tools/cffconvert
	@$(UV) pip install --quiet --python var/tools/cffconvert/bin/python cffconvert==2.0.0

# The image is kept in the user's cache, because building it takes minutes and it rarely changes.
.PHONY: testbed-image
testbed-image: ## Build the virtual machine of `sojourn testbed` (once, as root)
	@infra/setup/debian-packages.sh qemu-system-x86:qemu-system-x86_64 debootstrap cpio clang
	@testbed/image/build.sh "$(TESTBED_IMAGE)"

##@ Package

# One file that installs Sojourn without a checkout.
.PHONY: wheels
wheels: setup-spark ## Build the distribution sojourn with all packages into dist/ (TARGETS=... for other architectures)
	@infra/setup/uv.sh install
	@infra/wheel/build.sh dist $(TARGETS)

.PHONY: release
release: wheels ## Add the other files of a release: the client's wheel, the list of dependencies, checksums
	@infra/wheel/release.sh dist

##@ Test

# Cheap stages come first, so that a failure shows early. Each stage can be run alone after make setup-tests. Tests of the
# Python packages take two cores; stages that take one run two at a time. Cargo would warn of make's job server, which it is not given.
.PHONY: test
test: setup-tests ## Everything CI runs, stage by stage
	@$(MAKE) --jobs 2 --output-sync=line lint test-rust test-guest
	@$(MAKE) test-unit
	@$(MAKE) test-integration
	@$(MAKE) --jobs 2 --output-sync=line test-browser test-testbed test-superset

.PHONY: lint
lint: ## Formatting, types, import directions, English of documents and messages, Rust lints, style of changed SQL
	@echo "==> lint"
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@cargo fmt --check --manifest-path native/Cargo.toml --all
	@.venv/bin/python infra/english.py
	@.venv/bin/lint-imports
	@.venv/bin/mypy
	@cd dashboards && .venv/bin/mypy
	@env --unset MAKEFLAGS --unset MFLAGS cargo clippy --quiet --locked --manifest-path native/Cargo.toml --all-targets -- -D warnings
	@infra/changed_models.sh | (cd models && xargs --no-run-if-empty ../.venv/bin/sqlfluff lint --processes 2)

.PHONY: lint-sql
lint-sql: ## SQL style of every model (six CPU minutes)
	@echo "==> SQL style"
	@cd models && ../.venv/bin/sqlfluff lint --processes 2 intermediate marts

.PHONY: test-rust
test-rust: ## Tests of the Rust crates; every fuzz target replays its seeds and earlier failures
	@echo "==> Rust tests"
	@# Without the crate whose dependencies have other features, which would have those of the decoder compiled again.
	@env --unset MAKEFLAGS --unset MFLAGS cargo test --quiet --locked --manifest-path native/Cargo.toml --workspace --exclude sojourn-histograms-python

.PHONY: test-guest
test-guest: ## Tests of the program that performs testbed runs (Go)
	@echo "==> Go tests"
	@cd testbed/guest && test -z "$$(gofmt -l .)" && CGO_ENABLED=0 go vet ./... && CGO_ENABLED=0 go test ./...

.PHONY: test-unit
test-unit: ## Fast tests of the Python packages, the Superset adapter and the repository itself
	@echo "==> unit tests"
	@$(UNFLUSHED) .venv/bin/pytest $(PYTEST) -m "not integration and not browser and not guest and not long" $(TESTS_OF_PACKAGES) tests/repository
	@cd dashboards && $(UNFLUSHED) .venv/bin/pytest -q -n $(WORKERS) --dist loadfile -m "not integration" tests

.PHONY: test-integration
test-integration: ## From real files to HTTP answers, against figures computed independently
	@echo "==> integration tests"
	@$(UNFLUSHED) .venv/bin/pytest $(PYTEST) -m "integration and not long and not guest" $(TESTS_OF_PACKAGES) tests/integration

.PHONY: test-superset
test-superset: ## Superset as each of its roles, and the adapter between it and the API
	@echo "==> Superset"
	@cd dashboards && $(UNFLUSHED) .venv/bin/pytest -q -m integration tests

.PHONY: test-testbed
test-testbed: testbed-image ## A run in the testbed's virtual machine: queue log, captures and counters compared, and ingested
	@echo "==> testbed's guest"
	@$(UNFLUSHED) .venv/bin/pytest -q -m "guest and not long" testbed/tests

.PHONY: test-browser
test-browser: ## Every dashboard in a real browser, over the build of test-integration; saves the screenshot of the README
	@echo "==> browser tests"
	@$(UNFLUSHED) .venv/bin/python tests/browser/with_servers.py sample

.PHONY: test-browser-planted
test-browser-planted: ## Dashboards over planted builds: a growing one, studies, marks, access networks
	@echo "==> browser tests over planted builds"
	@.venv/bin/python tests/browser/with_servers.py growing studies marks

.PHONY: test-long
test-long: setup-tests testbed-image ## What make test leaves out: style of all SQL, fuzzing, random faults, 10,000 captures, a million requests, faults of Spark, 10 million connections
	@infra/setup/debian-packages.sh g++ bpftrace ethtool iperf3 iproute2:ip iputils-ping:ping kmod:modprobe procps:sysctl tcpdump
	@$(MAKE) lint-sql test-browser-planted
	@echo "==> fuzz targets: 10,000 inputs, the same each time"
	@native/fuzz/run.sh smoke
	@ingest/fuzz/run.sh smoke all
	@.venv/bin/pytest -q -m long $(TESTS_OF_PACKAGES) tests/integration
	@echo "==> planted truth of 10 million connections"
	@SOJOURN_TEST_WORLD_ROWS=10000000 .venv/bin/pytest -q transforms/tests/connection_marts/test_truth.py

# Not part of make test: an advisory may appear on any day, and the databases are on the network.
.PHONY: audit
audit: ## Compare the locked dependencies with published advisories: pip-audit, cargo-audit, govulncheck (network)
	@infra/setup/uv.sh install
	@infra/setup/audit.sh "$(UV)" "$(SOJOURN_VAR)/audit"

.PHONY: fuzz
fuzz: ## Fuzz the decoder and the parsers in Python, SECONDS_EACH (1200) for each target
	@native/fuzz/run.sh $(SECONDS_EACH)
	@ingest/fuzz/run.sh $(SECONDS_EACH)

##@ Develop

.PHONY: format
format: ## Format Python, Rust, and the SQL of models that differ from the main branch
	@.venv/bin/ruff check --fix-only .
	@.venv/bin/ruff format .
	@cargo fmt --manifest-path native/Cargo.toml --all
	@infra/changed_models.sh | (cd models && xargs --no-run-if-empty ../.venv/bin/sqlfluff fix --processes 2)

.PHONY: docs
docs: ## Write generated files: YAML of marts, the list of tables, docs/decoded.md, docs/openapi.json
	@.venv/bin/python -m sojourn_transforms.dbt.documentation
	@.venv/bin/python infra/decoded_document.py docs/decoded.md
	@.venv/bin/python infra/openapi_document.py docs/openapi.json

.PHONY: site
site: setup site-generator ## Build the documentation site into var/site, which opens without a server
	@.venv/bin/python infra/site/build.py --out $(SOJOURN_VAR)/site

.PHONY: site-generator
site-generator:
	@$(UV) venv --quiet --allow-existing var/tools/zensical
	@$(UV) pip install --quiet --python var/tools/zensical/bin/python zensical==0.0.73

.PHONY: figures
figures: setup ## Run the notebooks over the reference data; writes docs/figures
	@.venv/bin/python notebooks/execute.py --shared $(SOJOURN_SHARED) --var $(SOJOURN_VAR)/figures

.PHONY: validation
validation: setup ## Compare runs with figures computed without Sojourn, and with what studies state; writes docs/validation.md and docs/published-findings.md
	@rm -rf $(SOJOURN_VAR)/validation
	@$(SOJOURN) ingest $(SOJOURN_SHARED)/data/testbed --var $(SOJOURN_VAR)/validation
	@$(SOJOURN) build --var $(SOJOURN_VAR)/validation
	@.venv/bin/python -m sojourn_transforms.validation_report \
		$(SOJOURN_VAR)/validation $(SOJOURN_SHARED)/data/testbed/validation.csv docs/validation.md
	@rm -rf $(SOJOURN_VAR)/findings
	@$(SOJOURN) ingest ingest/sample/tma23 --var $(SOJOURN_VAR)/findings
	@.venv/bin/python testbed/results/keep.py --judge
	@.venv/bin/python -m sojourn_transforms.findings_report \
		models $(SOJOURN_VAR)/findings/lake testbed/results docs/published-findings.md

.PHONY: screenshot
screenshot: test-browser ## Take the README's picture of the dashboard
	@mkdir -p docs/images
	@dashboards/.venv/bin/python infra/setup/crop.py var/screenshots/aqm-comparison.png docs/images/aqm-comparison.png

##@ Benchmarks: each prints tables and writes benchmarks/results/NAME/

.PHONY: bench-capture
bench-capture: setup ## Captures, plain and compressed: sojourn ingest against tcptrace, NFStream and tshark (40 minutes, 9 GB of memory; PACKETS, CAPTURES, FORMS)
	@infra/setup/debian-packages.sh tcptrace tshark xz-utils:xz zstd
	@$(UV) venv --quiet --allow-existing $(SOJOURN_VAR)/tools/nfstream
	@$(UV) pip install --quiet --python $(SOJOURN_VAR)/tools/nfstream/bin/python nfstream==6.6.0
	@.venv/bin/python benchmarks/capture_speed.py --nfstream-python $(SOJOURN_VAR)/tools/nfstream/bin/python \
		--testbed $(SOJOURN_SHARED)/data/testbed --archive $(SOJOURN_SHARED)/data/public/ntop__nDPI \
		$(if $(PACKETS),--long-packets $(PACKETS) --short-flows $$(( $(PACKETS) / 2 ))) \
		$(if $(CAPTURES),--captures $(CAPTURES)) $(if $(FORMS),--forms $(FORMS))

.PHONY: bench-queue
bench-queue: setup ## Queue logs of 10 million events (EVENTS), binary and text (10 minutes, 2 GB of disk)
	@.venv/bin/python benchmarks/queue_log_speed.py $(if $(EVENTS),--events $(EVENTS))

.PHONY: bench-build
bench-build: setup ## Builds of the inputs of make build: from scratch, after one more capture or run, and with nothing new (3 minutes)
	@$(SOJOURN) generate connections $(SYNTHETIC_WORLD) --out $(SYNTHETIC) 2>/dev/null
	@$(SOJOURN) generate passive-rtt $(SYNTHETIC_ACCESS_NETWORK) --out $(SYNTHETIC_ACCESS) >/dev/null
	@.venv/bin/python benchmarks/build_speed.py --folder $(SOJOURN_VAR)/bench-build \
		--sources $(wildcard $(SAMPLE)/*_rep*) $(MARKED) $(MEASURED) $(PUBLISHED) $(SYNTHETIC) $(SYNTHETIC_ACCESS)/pping

.PHONY: bench-models
bench-models: setup ## Builds: the reference data, 10 million generated flows (FLOWS) in 100,000 runs (RUNS), 10 million in captures without runs (CAPTURE_FLOWS)
	@.venv/bin/python benchmarks/model_speed.py --shared $(SOJOURN_SHARED) --var $(SOJOURN_VAR)/bench-models \
		--runs $(RUNS) --flows $(FLOWS) --capture-flows $(CAPTURE_FLOWS)

.PHONY: bench-connection-files
bench-connection-files: setup ## Every reader of connections (PART), lookups, pseudonyms, a CSV of 80 million rows (ROWS; 5 GB of disk)
	@mkdir -p $(SOJOURN_VAR)
	@.venv/bin/python benchmarks/connection_reader_speed.py $(ROWS_OF_FILES) $(SOJOURN_VAR) --part $(PART)

.PHONY: bench-connections
bench-connections: setup ## Connections in the wild against plain SQL, Polars, pandas: 100 million (ROWS), or SCALE=full (430 million)
	@$(UV) venv --quiet --allow-existing $(SOJOURN_VAR)/tools/polars
	@$(UV) pip install --quiet --python $(SOJOURN_VAR)/tools/polars polars==1.35.2
	@.venv/bin/python benchmarks/connection_mart_speed.py --var $(SOJOURN_VAR)/bench-connections \
		--rows $(ROWS_OF_CONNECTIONS) --days $(DAYS_OF_CONNECTIONS) --polars-python $(SOJOURN_VAR)/tools/polars/bin/python

.PHONY: bench-passive-rtt
bench-passive-rtt: setup ## A day of ePPing's samples: ingest and build of 1, 3 and 10 million (SAMPLES, or SIZES), and 10⁹ extrapolated (1 GB of disk)
	@.venv/bin/python benchmarks/passive_rtt_speed.py --folder $(SOJOURN_VAR)/bench-passive-rtt \
		$(if $(SAMPLES),--samples $(SAMPLES)) $(if $(SIZES),--sizes $(SIZES))

.PHONY: bench-call-statistics
bench-call-statistics: setup ## Dumps of rtcstats of 200 MB and 1 GB (MEGABYTES): CPU time and peak memory of an ingest (2 GB of disk)
	@.venv/bin/python benchmarks/call_statistics_speed.py --folder $(SOJOURN_VAR)/bench-call-statistics \
		$(if $(MEGABYTES),--megabytes $(MEGABYTES))

.PHONY: bench-start
bench-start: setup ## CPU time until a command prints its help or an error, reads a small file, or answers /healthz (a minute)
	@.venv/bin/python benchmarks/start_speed.py --sample $(SAMPLE) --folder $(SOJOURN_VAR)/bench-start

.PHONY: bench-api
bench-api: setup ## The API under load: 1,000 requests a second, new responses, ROAPI and Datasette, 10 million rows (8 minutes; ROWS)
	@mkdir -p $(SOJOURN_VAR)/tools/bin
	@GOBIN=$(SOJOURN_VAR)/tools/bin go install github.com/tsenart/vegeta/v12@v12.13.0
	@$(UV) venv --quiet --allow-existing $(SOJOURN_VAR)/tools/roapi
	@$(UV) pip install --quiet --python $(SOJOURN_VAR)/tools/roapi roapi==0.12.7
	@$(UV) venv --quiet --allow-existing $(SOJOURN_VAR)/tools/datasette
	@$(UV) pip install --quiet --python $(SOJOURN_VAR)/tools/datasette datasette==0.65 setuptools==80.9.0
	@.venv/bin/python benchmarks/api_speed.py --folder $(SOJOURN_VAR)/bench-api $(if $(ROWS),--rows $(ROWS)) \
		--vegeta $(SOJOURN_VAR)/tools/bin/vegeta --roapi $(SOJOURN_VAR)/tools/roapi/bin/roapi \
		--datasette $(SOJOURN_VAR)/tools/datasette/bin/datasette

.PHONY: bench-dashboards
bench-dashboards: setup-dashboards ## Every dashboard, with the data of make run, in a browser: first view and further views (VIEWS), with where the time goes (10 minutes)
	@$(MAKE) build VAR=$(SOJOURN_VAR)/bench-dashboards
	@.venv/bin/python benchmarks/dashboard_speed.py --folder $(SOJOURN_VAR)/bench-dashboards $(if $(VIEWS),--views $(VIEWS))

.PHONY: bench-spark
bench-spark: setup-spark ## One counting job on DuckDB and on Spark, 50 million rows (ROWS; 3 GB of disk)
	@.venv/bin/python benchmarks/spark_speed.py --rows $(ROWS_OF_SPARK) --folder $(SOJOURN_VAR)/bench-spark

.PHONY: bench-spark-scale
bench-spark-scale: setup-spark ## Two counting jobs on 1, 2 and 4 executors of a cluster, rows even and skewed, 50 million (ROWS; 20 bytes of disk each)
	@for shape in even skewed; do .venv/bin/python benchmarks/spark_scale.py --rows $(ROWS_OF_SPARK) --shape $$shape \
		--folder $(SOJOURN_VAR)/bench-spark-scale || exit 1; done

.PHONY: bench-coverage
bench-coverage: setup ## How often intervals contain the true value, by simulation (STUDIES); writes the tables of docs/statistics.md
	@nice -n 10 .venv/bin/python benchmarks/coverage.py docs/statistics.md --studies $(STUDIES)

.PHONY: bench-coverage-mixed
bench-coverage-mixed: setup ## The same for the intervals of sojourn report (MIXED_STUDIES); writes its table in docs/statistics.md
	@nice -n 10 .venv/bin/python benchmarks/coverage_mixed.py docs/statistics.md --studies $(MIXED_STUDIES)

##@ Clean

.PHONY: clean
clean: ## Remove lake, warehouse, snapshots, Superset's own data, logs (lists them; YES=1 removes them)
	@infra/setup/clean.sh "$(SOJOURN_VAR)" "$(YES)"
