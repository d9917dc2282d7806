# Two commands matter: `make demo` records an incident and runs the main job on it, `make test` runs the whole suite.
# Each sets itself up; nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
CORE := .venv-core
DEV := .venv
AUDIT := .venv-audit

.PHONY: demo test lint audit warm clean

demo: $(CORE)/ready
	@rm -rf demo
	@$(CORE)/bin/ridgeline lab record routing.hot-key -o demo/incident --seed 7
	@$(CORE)/bin/ridgeline decide demo/incident; status=$$?; test $$status -eq 2 || exit 1

test: $(DEV)/ready
	$(DEV)/bin/python -m pytest -n 2 --dist loadfile

lint: $(DEV)/ready
	$(DEV)/bin/ruff check src tests bench
	$(DEV)/bin/ruff format --check src tests bench
	$(DEV)/bin/mypy

# Known vulnerabilities of what is installed; asks a database, so it is no part of `test`.
audit: $(DEV)/ready $(AUDIT)/ready
	$(AUDIT)/bin/pip-audit --skip-editable --path "$$($(DEV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

warm: $(CORE)/ready
	$(CORE)/bin/python -m ridgeline.sim.warm

$(CORE)/ready: pyproject.toml
	$(PYTHON) -m venv $(CORE)
	$(CORE)/bin/python -m pip install --quiet --disable-pip-version-check -e .
	$(CORE)/bin/python -m ridgeline.sim.warm
	@touch $@

$(DEV)/ready: pyproject.toml
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[live,page,search,mcp,ray,dev]'
	@touch $@

$(AUDIT)/ready:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@touch $@

clean:
	rm -rf $(CORE) $(DEV) $(AUDIT) demo
