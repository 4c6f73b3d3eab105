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
	@echo "make quick     the tests of what you changed, against a debug build"
	@echo "make test      every suite of the library and the tool; ends with 'N passed, N failed'"
	@echo "make test-places    the module in nginx and Neovim, and completion in zsh and fish"
	@echo "make test-packages  Debian packages, Swift packages and the rock, as other people use them"
	@echo "make test-page      the settings page in Chromium"
	@echo "make test-fleet     the package Fleet, on a real PostgreSQL server"
	@echo "make lib       build/libkvcodable.so, and build/lua/VERSION/kvcodable.so for each Lua"
	@echo "make install   what make lib built: PREFIX=$(PREFIX) DESTDIR="
	@echo "make tool      build/kvdefaults, the command line, with its completion"
	@echo "make install-tool  what make tool built, with its manual: PREFIX= DESTDIR="
	@echo "make page      build/kvdefaults-page, the settings page that kvdefaults page starts"
	@echo "make install-page  what make page built: PREFIX= DESTDIR="
	@echo "make dist      build/dist: a tarball, and packages for Debian"
	@echo "make check     format, lint, headers, exports, the recorded contract"
	@echo "make bench     the targets, measured beside peers"
	@echo "make fuzz      SECONDS=$(SECONDS) for each fuzzer"
	@echo "make stress    the long proofs: kills, faults, processes, sanitizers"
	@echo "make docs      the documentation of the Swift modules"

# ---- The library: self-contained, with only the header's functions exported

# The C++ library is linked in where the compiler has it, found in a folder
# without a shared one, and so is the compiler's own: loading them took a third
# and a tenth of the time of `require`.
STATIC_LINK := -Xlinker -s -Xswiftc -L -Xswiftc $(CURDIR)/build/c++ -Xswiftc -Xclang-linker -Xswiftc -static-libgcc

SWIFT_LINK := -Xlinker --version-script=$(CURDIR)/include/kvcodable.map -Xlinker --no-undefined-version \
  -Xlinker -soname -Xlinker libkvcodable.so.1 -Xlinker -z -Xlinker defs \
  -Xlinker -z -Xlinker nodelete $(STATIC_LINK)

CFLAGS_STRICT := -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Wpedantic -Werror -fvisibility=hidden -Iinclude
LUA_SOURCES := $(wildcard lua/src/*.c lua/src/*/*.c)

# The headers that are installed are looked for when all are.
lib: library
	@$(MAKE) -s --no-print-directory -j2 modules
	@touch build/compiled

.PHONY: help tool install-tool page install-page lib library modules demo quick test test-page test-fleet test-places \
  test-packages install dist check bench fuzz stress docs clean setup-lib setup-dist setup-quick setup-test setup-places \
  setup-packages setup-page setup-fleet

# What each command needs of the system. nginx's Lua module needs OpenResty's LuaJIT, which takes the place of luajit. The
# tests run with either.
LIB_NEEDS := lua5.4 liblua5.4-dev libsqlite3-dev pkg-config
DIST_NEEDS := debhelper dpkg-dev liblua5.1-0-dev liblua5.2-dev liblua5.3-dev
QUICK_NEEDS := $(LIB_NEEDS) g++ lua-busted
LUAJIT := $(if $(shell dpkg-query -W -f='$${db:Status-Abbrev}' libluajit2-5.1-dev 2>/dev/null | grep ^ii),\
  luajit2 libluajit2-5.1-dev,luajit libluajit-5.1-dev)
TEST_NEEDS := $(QUICK_NEEDS) lua-check sqlite3 valgrind cmake man-db lua5.1 liblua5.1-0-dev lua5.2 liblua5.2-dev \
  lua5.3 liblua5.3-dev $(LUAJIT)
PLACES_NEEDS := luajit2 libluajit2-5.1-dev neovim nginx-light libnginx-mod-http-lua zsh fish
PACKAGES_NEEDS := $(DIST_NEEDS) luarocks mmdebstrap zsh
PAGE_NEEDS := chromium chromium-driver
FLEET_NEEDS := libpq5 postgresql pgbouncer openssl

setup-lib:
	@tools/require.sh $(LIB_NEEDS)

setup-dist:
	@tools/require.sh $(LIB_NEEDS) $(DIST_NEEDS)

setup-quick:
	@tools/require.sh $(QUICK_NEEDS)

setup-test:
	@tools/require.sh $(TEST_NEEDS)
	@[ -d build/python/jsonschema ] || { echo "Installing with pip, into build/python: jsonschema"; \
	  python3 -m pip install -q --disable-pip-version-check --target build/python jsonschema==4.26.0; }

setup-places:
	@tools/require.sh $(LIB_NEEDS) $(PLACES_NEEDS)

setup-packages:
	@tools/require.sh $(TEST_NEEDS) $(PACKAGES_NEEDS)

setup-page:
	@tools/require.sh $(LIB_NEEDS) $(PAGE_NEEDS)

setup-fleet:
	@tools/require.sh $(FLEET_NEEDS)

build/c++:
	@mkdir -p $@
	@archive=$$($(CC) -print-file-name=libstdc++.a); [ ! -f "$$archive" ] || ln -sf "$$archive" $@/

# The settings page brings libcurl's functions along (Page/Sources/CNoCurl), and
# Foundation asks for the library all the same: it is given one without anything.
build/c++/libcurl.a: | build/c++
	@printf '!<arch>\n' > $@

# SwiftPM does not see a changed map: a library older than it goes first.
library: setup-lib build/c++
	@find .build-static -name libkvcodable.so ! -newer include/kvcodable.map -delete 2>/dev/null || true
	$(SWIFT) build -c release --product kvcodable --scratch-path .build-static -Xswiftc -static-stdlib $(SWIFT_LINK) \
	  2>&1 | tools/quiet.sh
	@cmp -s .build-static/release/libkvcodable.so build/libkvcodable.so || \
	  cp --remove-destination .build-static/release/libkvcodable.so build/
	@ln -sf libkvcodable.so build/libkvcodable.so.1

# ---- The command line and the settings page: packages of their own, with their own
# dependencies

# Builds the package in folder $(1) into .build-$(2). $(3) has the sources of other
# packages that it needs: SwiftPM does not notice files that are added or removed
# there. $(4) has the names of packages: SwiftPM names a package after its folder,
# and cannot build two of one name, so the checkout needs another one.
define build_package
@shopt -s nocasematch; case "$(notdir $(CURDIR))" in $(4)) \
  echo "SwiftPM cannot build the package $(1) in a folder that has its name: give $(CURDIR) another one"; exit 1;; esac
@[ -z "$$(find $(3) -type d -newer .build-$(2)/release.yaml 2>/dev/null)" ] || rm .build-$(2)/release.yaml
$(SWIFT) build -c release --package-path $(1) --scratch-path .build-$(2) -Xswiftc -static-stdlib $(STATIC_LINK) \
  2>&1 | tools/quiet.sh
endef

tool: setup-lib build/c++
	$(call build_package,Tool,tool,Sources,tool)
	@cmp -s .build-tool/release/kvdefaults build/kvdefaults || cp --remove-destination .build-tool/release/kvdefaults build/
	@mkdir -p build/completion
	@for shell in bash zsh fish; do build/kvdefaults --generate-completion-script $$shell > build/completion/$$shell; done

page: setup-lib build/c++ build/c++/libcurl.a
	$(call build_package,Page,page,Sources Tool/Sources,page|tool)
	@cmp -s .build-page/release/kvdefaults-page build/kvdefaults-page || \
	  cp --remove-destination .build-page/release/kvdefaults-page build/

# Shells look there for what completes a program's arguments; Debian's zsh elsewhere.
ZSHDIR = $(PREFIX)/share/zsh/site-functions
install-tool:
	@[ -e build/kvdefaults ] || { echo "Nothing is built yet: run make tool first"; exit 1; }
	install -D -m 755 build/kvdefaults $(DESTDIR)$(PREFIX)/bin/kvdefaults
	install -D -m 644 Tool/kvdefaults.1 $(DESTDIR)$(PREFIX)/share/man/man1/kvdefaults.1
	install -D -m 644 build/completion/bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/kvdefaults
	install -D -m 644 build/completion/zsh $(DESTDIR)$(ZSHDIR)/_kvdefaults
	install -D -m 644 build/completion/fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/kvdefaults.fish

# kvdefaults starts the program from there.
install-page:
	@[ -e build/kvdefaults-page ] || { echo "Nothing is built yet: run make page first"; exit 1; }
	install -D -m 755 build/kvdefaults-page $(DESTDIR)$(PREFIX)/libexec/kvdefaults-page

# ---- The Lua module, for each Lua whose headers are installed
#
# LuaJIT has the interface of 5.1, and its folder: one module serves both, built
# with the headers of either. LUA_CFLAGS_5.5="-I..." names headers that pkg-config
# does not know.

LUA_PACKAGES_5.1 = lua5.1 lua-5.1 lua51 luajit
LUA_PACKAGES_5.2 = lua5.2 lua-5.2 lua52
LUA_PACKAGES_5.3 = lua5.3 lua-5.3 lua53
LUA_PACKAGES_5.4 = lua5.4 lua-5.4 lua54
LUA_PACKAGES_5.5 = lua5.5 lua-5.5 lua55
LUA_PACKAGE = $(shell for name in $(LUA_PACKAGES_$(1)); do pkg-config --exists $$name && echo $$name && break; done)
$(foreach version,5.1 5.2 5.3 5.4 5.5,$(eval LUA_PACKAGE_$(version) := $(call LUA_PACKAGE,$(version))))
LUA_VERSIONS := $(foreach version,5.1 5.2 5.3 5.4 5.5,$(if $(LUA_PACKAGE_$(version))$(LUA_CFLAGS_$(version)),$(version)))
LUA_FLAGS = -fPIC -fexceptions

# The folder that has the library and gets the modules.
BUILT = build
modules: $(LUA_VERSIONS:%=$(BUILT)/lua/%/kvcodable.so)

# 5.4's has names without a version, for hosts and for package.cpath.
$(BUILT)/lua/%/kvcodable.so: $(LUA_SOURCES) $(wildcard lua/src/*.h lua/src/*/*.h lua/embedded/*.lua include/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STRICT) $(LUA_FLAGS) \
	  $(or $(LUA_CFLAGS_$*),$$(pkg-config --cflags $(LUA_PACKAGE_$*))) -shared -o $@ $(LUA_SOURCES) \
	  -L$(BUILT) -lkvcodable -Wl,-soname,libkvcodable_lua$(filter-out 5.4,$*).so.1 -Wl,-z,nodelete \
	  -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../..:$$ORIGIN/../../..'
	@ln -sf lua/$*/kvcodable.so $(BUILT)/libkvcodable_lua$(filter-out 5.4,$*).so.1
	@ln -sf lua/$*/kvcodable.so $(BUILT)/libkvcodable_lua$(filter-out 5.4,$*).so
	@case $* in 5.1) ln -sfn 5.1 $(BUILT)/lua/luajit;; 5.4) ln -sf lua/5.4/kvcodable.so $(BUILT)/kvcodable.so;; esac

# ---- Demonstration and proofs

demo:
	@tools/current.sh || { \
	  echo "First the library is compiled, which takes some minutes; the next time the demonstration takes a second."; \
	  $(MAKE) -s --no-print-directory lib; }
	@LUA_CPATH="build/?.so;;" Tests/demo.sh

# The debug library of the Swift tests serves the C programs and the specs as well.
quick: setup-quick
	$(SWIFT) build --build-tests 2>&1 | tools/quiet.sh
	@mkdir -p build/quick
	@ln -sf ../../.build/debug/libkvcodable.so build/quick/libkvcodable.so
	@$(MAKE) -s --no-print-directory modules BUILT=build/quick LUA_VERSIONS=5.4
	@# Fewer generated cases than make test has.
	KVCODABLE_CASES=200 KVCODABLE_OPERATIONS=1000 python3 Tests/run.py --group quick

test: setup-test lib tool
	python3 Tests/run.py

test-places: setup-places lib tool
	python3 Tests/run.py --group places

test-packages: setup-packages lib tool
	python3 Tests/run.py --group packages

test-page: setup-page tool page
	python3 Page/Tests/page.py

# The package Fleet: it needs nothing of this one.
test-fleet: setup-fleet
	$(SWIFT) build --package-path Fleet --scratch-path .build-fleet 2>&1 | tools/quiet.sh
	python3 Fleet/Tests/run.py

check: setup-test lib
	@tools/require.sh clang-format
	tools/check.sh

bench: setup-test setup-page lib tool page
	@tools/require.sh lua-cjson lua-dkjson libmsgpack-dev libplist-dev libglib2.0-dev libsqlite3-dev \
	  libglib2.0-bin libplist-utils
	Benchmarks/run.sh

fuzz:
	Tests/Fuzz/run.sh $(SECONDS)

stress: setup-test lib
	Tests/Stress/run.sh

docs: setup-lib
	tools/docs.sh

# ---- Installation. Each Lua module is one file, a library for hosts and, through
# a link, what require finds: whoever loads it, it is in a process once. 5.4's has
# no version in its name.

LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
# Where the system's Lua looks: pkg-config knows for /usr, and names a folder that
# is not searched for any other prefix.
LUA_CMOD = $(or $(if $(filter /usr,$(PREFIX)),$(shell pkg-config --variable=INSTALL_CMOD $(call LUA_PACKAGE,$(1)))),\
  $(PREFIX)/lib/lua/$(1))

# A file for pkg-config: its name, that of its .pc.in, and a Lua version.
define install_package
sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LUA@|$(filter-out 5.4,$(3))|' \
  -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' \
  include/$(2).pc.in | install -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/pkgconfig/$(1).pc

endef

# The module of a Lua version, with its library's name, and its folder.
define install_module
install -d $(DESTDIR)$(3)
install -m 755 build/lua/$(1)/kvcodable.so $(DESTDIR)$(LIBDIR)/$(2).so.$(VERSION)
ln -sf $(2).so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(2).so.1
ln -sf $(2).so.1 $(DESTDIR)$(LIBDIR)/$(2).so
ln -srf $(DESTDIR)$(LIBDIR)/$(2).so.$(VERSION) $(DESTDIR)$(3)/kvcodable.so
$(call install_package,kvcodable-lua$(filter-out 5.4,$(1)),kvcodable-lua,$(1))
$(if $(filter 5.1,$(1)),$(call install_package,kvcodable-luajit,kvcodable-lua,$(1)))

endef

# It builds nothing: sudo has no swift in its path.
install:
	@[ -e build/libkvcodable.so ] && [ -e build/kvcodable.so ] || { echo "Nothing is built yet: run make lib first"; exit 1; }
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/kvcodable $(DESTDIR)$(INCLUDEDIR)
	install -m 755 build/libkvcodable.so $(DESTDIR)$(LIBDIR)/libkvcodable.so.$(VERSION)
	ln -sf libkvcodable.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libkvcodable.so.1
	ln -sf libkvcodable.so.1 $(DESTDIR)$(LIBDIR)/libkvcodable.so
	install -m 644 include/kvcodable*.h include/kvcodable.hpp $(DESTDIR)$(INCLUDEDIR)
	$(call install_package,kvcodable,kvcodable)
	install -D -m 644 lua/kvcodable.d.lua $(DESTDIR)$(PREFIX)/share/kvcodable/kvcodable.d.lua
	for name in kvcodableConfig kvcodableConfigVersion; do \
	  sed -e 's|@VERSION@|$(VERSION)|' \
	    -e "s|@INCLUDEDIR@|$$(realpath -m --relative-to=$(LIBDIR) $(INCLUDEDIR))|" include/$$name.cmake.in \
	    | install -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/cmake/kvcodable/$$name.cmake; \
	done
	$(foreach version,$(shell ls build/lua | grep '^5'),$(call \
	  install_module,$(version),libkvcodable_lua$(filter-out 5.4,$(version)),$(call LUA_CMOD,$(version))))

dist: setup-dist lib tool page
	tools/dist.sh

clean:
	rm -rf build .build .build-*
