# hearth needs Go and nothing else. The race detector additionally needs a C compiler.

GO    ?= go
BENCH ?= --quick

# How long the tests of one package may take, not how long they do: minutes of this are for machines that are slow or busy.
TEST  ?= $(GO) test -timeout 30m

# Packages whose goroutines meet: these run under the race detector. Not those that wait for real servers, or hold real time
# against real time; go-mysql-server has a race of its own between engines in one process (its status variables).
RACE_PACKAGES ?= . $(addprefix ./internal/,admin btree check datafile dict file heat lock page pool recovery region rows space sqlparse txn wal)

.PHONY: all build test lint race torture demo bench

all: build

# The binary, static: no cgo anywhere.
build:
	CGO_ENABLED=0 $(GO) build -o bin/hearth ./cmd/hearth

# Everything that must hold before a change goes in.
test: lint build
	CGO_ENABLED=0 $(TEST) ./...
	cd third_party/go-icu-regex && CGO_ENABLED=0 $(TEST) ./...
	@$(MAKE) --no-print-directory race torture demo

# What is style and policy: vet, gofmt, and the tests that hold imports and tidiness.
lint:
	$(GO) vet ./...
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	CGO_ENABLED=0 $(GO) test -run '^Test(Imports|Tidy)' .

race:
	@if command -v "$$($(GO) env CC)" >/dev/null 2>&1; then \
		echo "$(TEST) -race -short $(RACE_PACKAGES)"; \
		CGO_ENABLED=1 $(TEST) -race -short $(RACE_PACKAGES); \
	else \
		echo "race: skipped, no C compiler ($$($(GO) env CC)) is installed"; \
	fi

# Memory that survives needs a place: a container's /dev/shm has 64 MiB, unless it was asked for more.
NEEDS_MEMORY = free=$$(df -Pk /dev/shm 2>/dev/null | awk 'END { print $$4 }'); if [ "$${free:-0}" -lt 262144 ]; then \
	echo "$@: skipped, /dev/shm has less than 256 MiB free"; exit 0; fi

# Child processes are killed at random moments; nothing acknowledged may be missing.
torture: build
	@$(NEEDS_MEMORY); for what in "torture" "torture sql"; do for durability in commit process; do \
		echo "bin/hearth $$what --quick --durability $$durability"; \
		bin/hearth $$what --quick --durability $$durability || exit 1; \
	done; done

# Four restarts under load at the smallest size, its verdicts read by a test: nothing lost, and it came back each time.
demo: build
	@$(NEEDS_MEMORY); echo "HEARTH_DEMO=bin/hearth $(GO) test -count=1 -run '^TestDemo$$' ./cmd/hearth"; \
		CGO_ENABLED=0 HEARTH_DEMO=bin/hearth $(GO) test -count=1 -run '^TestDemo$$' ./cmd/hearth

# make bench BENCH= runs it at full size, as in docs/benchmarks.md.
bench: build
	bin/hearth bench engine $(BENCH)
	bin/hearth bench attach $(BENCH)
