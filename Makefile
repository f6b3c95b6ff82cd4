# `make` alone lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One more than CI has cores: much of the time is spent waiting.
WORKERS ?= 3
# How long `make soak` lasts; without a SEED it takes a new one.
MINUTES ?= 30
SEED    ?=
# What CI repeats on the embedded API: a part of every sort of test that runs on a cluster.
ALSO_EMBEDDED := tests/e2e/test_kube_client.py tests/e2e/test_kube_discovery.py tests/e2e/test_api_server.py $(addprefix tests/e2e/scenarios/test_, \
    web_service.py collections.py revisions.py basics.py tracking.py)
PACKAGES := kube-objects kube-cel kube-sandbox
WORKSPACE := $(PACKAGES:%=--editable packages/%) --editable .
# Wheels of the lock files, with their hashes; nothing is resolved, and no foreign code runs to build one.
PIP_LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all:
# The distributions of this repository, built by the backend of the lock file.
PIP_OURS := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation
KUBE_BUILD := tools/kube/build.sh etcd kube-apiserver kube-controller-manager kubectl helm

.DEFAULT_GOAL := help
.PHONY: help install demo dev lock sbom audit check style format test test-full test-kro kube-bin kube-bin-if-go kro-bin kro-bin-if-go \
        cluster golden bench fuzz clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml $(wildcard packages/*/pyproject.toml) requirements/install.txt requirements/build.txt
	$(PIP_LOCKED) -r requirements/build.txt
	$(PIP_LOCKED) -r requirements/install.txt
	$(PIP_OURS) $(WORKSPACE)
	@touch $@

$(VENV)/.dev: $(VENV)/.installed requirements/dev.txt
	$(PIP_LOCKED) -r requirements/dev.txt
	@touch $@

install: $(VENV)/.installed  ## put kro-gitops at .venv/bin/kro-gitops

demo: $(VENV)/.installed  ## from nothing to a repository that is reconciled, without a cluster
	@$(BIN)/python -m tools.demo

dev: $(VENV)/.dev  ## install what developing needs, too

lock: $(BIN)/python  ## update requirements/ after a change of dependencies; UPGRADE=1 takes the newest versions
	$(PIP_LOCKED) -r requirements/lock.txt
	$(BIN)/python -m tools.dependencies.lock $(if $(UPGRADE),--upgrade)

sbom: $(VENV)/.dev  ## write what an installation contains to build/kro-gitops.cdx.json (CycloneDX)
	$(BIN)/python -m tools.dependencies.sbom

audit: $(VENV)/.dev  ## ask for known vulnerabilities of everything in requirements/
	$(BIN)/python -m tools.dependencies.audit

check: $(VENV)/.dev  ## format, lint, import contracts, types, known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	for package in $(PACKAGES); do (cd packages/$$package && ../../$(BIN)/mypy) || exit 1; done
	$(BIN)/python -m tools.dependencies.audit

style: $(VENV)/.dev  ## print how the code is cut: lengths, single-use helpers, local imports
	$(BIN)/python -m tools.style

format: $(VENV)/.dev  ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(VENV)/.dev kube-bin-if-go  ## the CI tier: all on a real API server, a part on the embedded one
	$(BIN)/pytest --numprocesses $(WORKERS)
	KRO_GITOPS_CLUSTER=embedded $(BIN)/pytest --numprocesses $(WORKERS) $(ALSO_EMBEDDED)

test-full: $(VENV)/.dev kube-bin-if-go kro-bin-if-go  ## everything, with larger budgets, on both
	KRO_GITOPS_TESTS=full $(BIN)/pytest --numprocesses $(WORKERS)
	KRO_GITOPS_TESTS=full KRO_GITOPS_CLUSTER=embedded $(BIN)/pytest --numprocesses $(WORKERS) tests/e2e

soak: $(VENV)/.dev kube-bin  ## commits, kills and failures over 20 sources: make soak MINUTES=30 SEED=7
	KRO_GITOPS_TESTS=full KRO_GITOPS_SOAK_MINUTES=$(MINUTES) KRO_GITOPS_SOAK_SEED=$(SEED) \
	    $(BIN)/pytest -o log_cli=true -o log_cli_level=INFO tests/e2e/faults/test_soak.py

test-kro: $(VENV)/.dev kube-bin kro-bin  ## run the scenarios on kro itself
	KRO_GITOPS_TARGET=kro $(BIN)/pytest --numprocesses $(WORKERS) tests/e2e/scenarios

kube-bin:  ## build the Kubernetes binaries and helm, which tests run, once
	$(KUBE_BUILD)

kube-bin-if-go:
	@if [ -n "$$KUBE_BIN$$KUBECONFIG_TEST" ]; then :; \
	elif command -v go >/dev/null; then $(KUBE_BUILD); \
	else echo "NOTE: no Go here, so tests that need a cluster will not run"; fi

kro-bin:  ## build kro's own controller, to compare with
	tools/kro/build.sh

kro-bin-if-go:
	@if command -v go >/dev/null; then tools/kro/build.sh; \
	else echo "NOTE: no Go here, so nothing is compared with kro's own controller"; fi

cluster: $(VENV)/.dev kube-bin  ## a control plane to play with, until Ctrl-C
	$(BIN)/python -m tools.cluster

golden: $(VENV)/.dev  ## compare with outcomes of kro: make golden FILE=outcomes.jsonl
	$(BIN)/python packages/kube-cel/tests/cel_testing/golden.py $(FILE)

bench: $(VENV)/.dev kube-bin-if-go kro-bin-if-go  ## print the benchmarks
	PYTHONPATH=packages/kube-cel/tests $(BIN)/python -m benchmarks

fuzz: $(VENV)/.dev  ## fuzz parsers for longer than CI does
	KRO_GITOPS_TESTS=fuzz $(BIN)/pytest --numprocesses $(WORKERS) tests/property

clean:  ## remove what was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
