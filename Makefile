# kvcodable: the daily commands. `make` alone lists them.

VERSION := $(shell sed -n 's/.*libraryVersion = "\(.*\)"/\1/p' Sources/KVCodable/Version.swift)
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
SWIFT ?= swift
CC = gcc

.DEFAULT_GOAL := help
SHELL := /bin/bash -o pipefail

help:
	@echo "make demo      a script reads and changes a typed part of a preferences file"
	@echo "make test      every suite; ends with 'N passed, N failed'"
	@echo "make lib       build/libkvcodable.so and the Lua module build/kvcodable.so"
	@echo "make install   what make lib built: PREFIX=$(PREFIX) DESTDIR="
	@echo "make check     format, lint, headers, exports, the recorded contract"
	@echo "make bench     the targets, measured beside peers"
	@echo "make fuzz      SECONDS=$(SECONDS) for each fuzzer"
	@echo "make stress    the long proofs: kills, faults, processes, sanitizers"
	@echo "make mutants   small faults, one after the other: lists those that no test sees"
	@echo "make docs      the documentation of the Swift modules"

# ---- The library: self-contained, with only the header's functions exported

SWIFT_LINK := -Xlinker --version-script=$(CURDIR)/include/kvcodable.map -Xlinker --no-undefined-version \
  -Xlinker -soname -Xlinker libkvcodable.so.1 -Xlinker -z -Xlinker defs \
  -Xlinker -z -Xlinker nodelete -Xlinker -s -Xswiftc -L -Xswiftc $(CURDIR)/build/c++ \
  -Xswiftc -Xclang-linker -Xswiftc -static-libgcc

CFLAGS_STRICT := -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Wpedantic -Werror -fvisibility=hidden -Iinclude
LUA_SOURCES := $(wildcard lua/src/*.c)

lib: library build/kvcodable.so

.PHONY: help lib library demo test install check bench fuzz stress mutants docs clean setup-lib setup-test

setup-lib:
	@tools/require.sh lua5.4 liblua5.4-dev libsqlite3-dev pkg-config

setup-test: setup-lib
	@tools/require.sh g++ lua-busted lua-check sqlite3 valgrind

# SwiftPM does not see a changed map: a library older than it goes first. The
# C++ library is linked in where the compiler has it, found in a folder without a
# shared one, and so is the compiler's own: loading them took a third and a tenth
# of the time of `require`.
library: setup-lib
	@mkdir -p build/c++
	@find .build-static -name libkvcodable.so ! -newer include/kvcodable.map -delete 2>/dev/null || true
	@archive=$$($(CC) -print-file-name=libstdc++.a); [ ! -f "$$archive" ] || ln -sf "$$archive" build/c++/
	$(SWIFT) build -c release --product kvcodable --scratch-path .build-static -Xswiftc -static-stdlib $(SWIFT_LINK) \
	  2>&1 | tools/quiet.sh
	@cmp -s .build-static/release/libkvcodable.so build/libkvcodable.so || \
	  cp --remove-destination .build-static/release/libkvcodable.so build/
	@ln -sf libkvcodable.so build/libkvcodable.so.1
	@touch build/compiled

lua/src/chunks.h: $(wildcard lua/embedded/*.lua) tools/embed.py
	python3 tools/embed.py $@

LUA_FLAGS = -fPIC

build/kvcodable.so: $(LUA_SOURCES) $(wildcard lua/src/*.h) lua/src/chunks.h $(wildcard include/*.h) | library setup-lib
	$(CC) $(CFLAGS_STRICT) $(LUA_FLAGS) $$(pkg-config --cflags lua5.4) -shared -o $@ $(LUA_SOURCES) \
	  -Lbuild -lkvcodable -Wl,-soname,libkvcodable_lua.so.1 -Wl,-z,nodelete \
	  -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../..:$$ORIGIN/../../..'
	@ln -sf kvcodable.so build/libkvcodable_lua.so.1
	@ln -sf kvcodable.so build/libkvcodable_lua.so

# ---- Demonstration and proofs

demo:
	@tools/current.sh || { \
	  echo "First the library is compiled, which takes some minutes; the next time the demonstration takes a second."; \
	  $(MAKE) -s --no-print-directory lib; }
	@LUA_CPATH="build/?.so;;" Tests/demo.sh

test: setup-test lib
	python3 Tests/run.py

check: setup-test lib
	@tools/require.sh clang-format
	tools/check.sh

bench: lib
	@tools/require.sh valgrind lua-cjson lua-dkjson libmsgpack-dev libplist-dev libglib2.0-dev libsqlite3-dev
	Benchmarks/run.sh

fuzz:
	Tests/Fuzz/run.sh $(SECONDS)

stress: setup-test lib
	Tests/Stress/run.sh

# MUTANTS="--part store --every 10" takes some of them.
mutants: setup-test lib
	python3 Tests/Stress/mutants.py $(MUTANTS)

docs: setup-lib
	tools/docs.sh

# ---- Installation. The Lua module is one file, a library for hosts and, through a
# link, what require finds: whoever loads it, it is in a process once.

LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
# Where the system's Lua looks: pkg-config knows for /usr, and names a folder that
# is not searched for any other prefix.
LUA_CMOD = $(if $(filter /usr,$(PREFIX)),$(shell pkg-config --variable=INSTALL_CMOD lua5.4),$(PREFIX)/lib/lua/5.4)

# It builds nothing: sudo has no swift in its path.
install:
	@[ -e build/libkvcodable.so ] && [ -e build/kvcodable.so ] || { echo "Nothing is built yet: run make lib first"; exit 1; }
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LUA_CMOD)
	install -m 755 build/libkvcodable.so $(DESTDIR)$(LIBDIR)/libkvcodable.so.$(VERSION)
	ln -sf libkvcodable.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libkvcodable.so.1
	ln -sf libkvcodable.so.1 $(DESTDIR)$(LIBDIR)/libkvcodable.so
	install -m 644 include/kvcodable*.h include/kvcodable.hpp $(DESTDIR)$(INCLUDEDIR)
	install -m 755 build/kvcodable.so $(DESTDIR)$(LIBDIR)/libkvcodable_lua.so.$(VERSION)
	ln -sf libkvcodable_lua.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libkvcodable_lua.so.1
	ln -sf libkvcodable_lua.so.1 $(DESTDIR)$(LIBDIR)/libkvcodable_lua.so
	ln -srf $(DESTDIR)$(LIBDIR)/libkvcodable_lua.so.$(VERSION) $(DESTDIR)$(LUA_CMOD)/kvcodable.so
	for name in kvcodable kvcodable-lua; do \
	  sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' include/$$name.pc.in \
	    | install -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc; \
	done
	install -d $(DESTDIR)$(LIBDIR)/cmake/kvcodable
	for name in kvcodableConfig kvcodableConfigVersion; do \
	  sed -e 's|@VERSION@|$(VERSION)|' \
	    -e "s|@INCLUDEDIR@|$$(realpath -m --relative-to=$(LIBDIR) $(INCLUDEDIR))|" include/$$name.cmake.in \
	    | install -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/cmake/kvcodable/$$name.cmake; \
	done

clean:
	rm -rf build .build .build-*
