# Every target brings its own tools: uv (from the package index, into .tools) and the locked environment (.venv).
SHELL := /bin/bash
.DEFAULT_GOAL := help
UV := $(shell command -v uv || echo .tools/bin/uv)
RUN := .venv/bin/
# Real daemons share the machine with other tests: what failed is run once more, alone. What fails alone, fails.
AGAIN := $(RUN)pytest --last-failed --last-failed-no-failures=none
TESTBED := PYTHONPATH=tests $(RUN)python -m testbed
on_testbed = $(TESTBED) run $(RUN)pytest -m testbed $(1) || $(TESTBED) run $(AGAIN) -m testbed $(1) -n 1
# Slurm beside Ray, Kueue's and JobSet's behaviour at any width; what takes a machine's power or ends what all need
# runs alone, and last what asks which rights were used by all.
RAY := tests/conformance/ray
ALONE := $(addprefix tests/,testbed/test_outages.py testbed/test_ray_slurm.py conformance/test_pods_node_lost.py \
  testbed/test_used_rights.py)
but = $(addprefix --ignore=,$(1))

.PHONY: help demo test test-fast test-all testbed testbed-down testbed-test testbed-bench lint fmt bench soak docs packages test-packages

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

.tools/bin/uv:
	@./scripts/bootstrap-uv

.venv/.ready: pyproject.toml uv.lock | $(filter .tools/bin/uv,$(UV))
	$(UV) sync --frozen --quiet --extra dev --extra docs
	@touch $@

packages: # real Slurm daemons for demo and tests, where apt can be used
	@./scripts/apt-packages

test-packages: # and what tests of monitoring and of the status page need
	@./scripts/apt-packages prometheus chromium

demo: .venv/.ready packages ## the main job at work before your eyes, with invariants checked
	$(RUN)k8s-bridge demo

test: .venv/.ready test-packages ## every tier that needs no real Kubernetes
	$(RUN)pytest -n 4 --dist worksteal || $(AGAIN)

test-fast: .venv/.ready ## without real daemons and without slow tests
	$(RUN)pytest -m "not slurm and not slow and not testbed"

test-all: lint test ## lint and every tier

testbed: .venv/.ready ## real Kubernetes, Kueue, JobSet and KubeRay on this machine (root and Go; the first build takes 11 min)
	$(TESTBED) up

testbed-down: .venv/.ready ## end it; only its build cache stays
	$(TESTBED) down

testbed-test: .venv/.ready ## the same scenarios as in the sandbox, on the testbed
	$(call on_testbed,tests/testbed $(RAY) $(call but,$(ALONE)) -n 2 --dist loadscope)
	$(call on_testbed,tests/conformance $(call but,$(RAY) $(ALONE)) -n 4 --dist worksteal)
	$(call on_testbed,$(ALONE))

testbed-bench: .venv/.ready ## the scenarios of bench that a testbed can take, with its own budgets
	$(TESTBED) run $(RUN)python -m bench --place testbed

lint: .venv/.ready ## ruff, mypy --strict, import-linter, and the documents as a site
	$(RUN)ruff format --check .
	$(RUN)ruff check .
	$(RUN)mypy
	$(RUN)lint-imports
	NO_MKDOCS_2_WARNING=1 $(RUN)mkdocs build --quiet --strict --site-dir .site

fmt: .venv/.ready ## format and apply safe fixes
	$(RUN)ruff format .
	$(RUN)ruff check --fix .

bench: .venv/.ready ## scenarios with committed budgets; fails when one is missed
	$(RUN)python -m bench

soak: .venv/.ready ## jobs and faults at random in the sandbox for MINUTES (30), then a report
	$(RUN)python -m bench.soak $(or $(MINUTES),30)

docs: .venv/.ready ## CRD, JSON schema, alerts, dashboards and reference tables from code
	$(RUN)python -m api.generate
	$(RUN)python charts/generate.py
	PYTHONPATH=tests $(RUN)python docs/generate.py
	$(RUN)python docs/terminal.py
