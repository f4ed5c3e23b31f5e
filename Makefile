# Every target brings its own tools: uv (from the package index, into .tools) and the locked environment (.venv).
SHELL := /bin/bash
.DEFAULT_GOAL := help
UV := $(shell command -v uv || echo .tools/bin/uv)
RUN := .venv/bin/

.PHONY: help demo test test-fast test-all lint fmt bench docs

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.tools/bin/uv:
	python3 -m venv .tools && .tools/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

.venv/.ready: pyproject.toml uv.lock | $(filter .tools/bin/uv,$(UV))
	$(UV) sync --frozen --quiet --extra dev
	@touch $@

lint: .venv/.ready ## ruff, mypy --strict, import-linter
	$(RUN)ruff format --check .
	$(RUN)ruff check .
	$(RUN)mypy
	$(RUN)lint-imports

fmt: .venv/.ready ## format and apply safe fixes
	$(RUN)ruff format .
	$(RUN)ruff check --fix .
