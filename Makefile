# `make` alone lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One more than CI has cores: much of the time is spent waiting.
WORKERS ?= 3
# What CI repeats on the embedded API: a part of every sort of test that runs on a cluster.
ALSO_EMBEDDED := tests/e2e/test_kube_client.py tests/e2e/test_kube_discovery.py tests/e2e/test_api_server.py $(addprefix tests/e2e/scenarios/test_, \
    web_service.py collections.py revisions.py basics.py tracking.py)
PACKAGES := kube-objects kube-cel kube-sandbox
WORKSPACE := $(PACKAGES:%=--editable packages/%) --editable .
KUBE_BUILD := tools/kube/build.sh etcd kube-apiserver kube-controller-manager kubectl helm

.DEFAULT_GOAL := help
.PHONY: help install demo dev check style format test test-full test-kro kube-bin kube-bin-if-go kro-bin kro-bin-if-go \
        cluster golden bench fuzz clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.installed: $(BIN)/python pyproject.toml $(wildcard packages/*/pyproject.toml) constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(WORKSPACE)
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	@touch $@

install: $(VENV)/.installed  ## put kro-gitops at .venv/bin/kro-gitops

demo: $(VENV)/.installed  ## from nothing to a repository that is reconciled, without a cluster
	@$(BIN)/python -m tools.demo

dev: $(VENV)/.dev  ## install what developing needs, too

check: $(VENV)/.dev  ## format, lint, import contracts, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	for package in $(PACKAGES); do (cd packages/$$package && ../../$(BIN)/mypy) || exit 1; done

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
