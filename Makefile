# ridge: `make` builds build/ridge, `make demo` shows it at work, `make test` runs every test.
# `make help` lists the rest. BUILD=DIR builds elsewhere, CC=clang with another compiler,
# SAN=address,undefined with sanitizers, RIDGE_NO_INSTALL=1 never installs a package. `make macos` builds
# for macOS on another system and runs make again with MACOS=arm64 and MACOS=x86_64.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
SAN ?=
CFLAGS ?= -O2 -g
MACOS ?=

ifneq ($(word 2,$(BUILD)),)
# make splits names at spaces: a link without spaces stands for the folder, and make runs again with it.
build_link := .build-$(shell printf '%s' '$(BUILD)' | cksum | cut -d ' ' -f 1)
$(sort all $(MAKECMDGOALS)): run_with_link ;
run_with_link:
	@mkdir -p '$(BUILD)' && ln -sfn '$(BUILD)' $(build_link)
	@$(MAKE) --no-print-directory BUILD=$(build_link) $(MAKECMDGOALS)
	@$(if $(filter clean,$(MAKECMDGOALS)),rm -rf '$(BUILD)' $(build_link))
.PHONY: all $(MAKECMDGOALS) run_with_link
else

# All cores, unless -j was given; V=1 shows every command in full.
ifeq ($(filter -j% --jobs%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)
endif
OBJCOPY ?= objcopy
comma := ,
V ?=
quiet = $(if $(V),,@echo '  $(1)  $@';)

BUDGET ?=
goals := $(if $(MAKECMDGOALS),$(MAKECMDGOALS),all)
without_building := clean help format uninstall macos docs
ifneq ($(filter-out $(without_building),$(goals)),)
# Finds the libraries (and installs what is missing, when it may) and writes down their flags: this
# happens while make reads this file, so that what was just installed is used.
ready := $(shell $(if $(MACOS),scripts/macos-libraries $(BUILD),CC="$(CC)" scripts/dependencies $(BUILD)) $(if $(filter $(if $(BUDGET),,test-long) fuzz %/fuzz/driver %/fuzz/ridge-fuzz,$(goals)),fuzz,$(if $(filter test test-long,$(goals)),test)) >&2 && echo yes)
ifneq ($(ready),yes)
$(error something that ridge needs is missing; the lines above say what)
endif
include $(BUILD)/dependencies.mk
endif

override CPPFLAGS += -Isrc -Iinclude -Iexamples -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE \
                     $(LIBRARY_DEFINES) $(LIBRARY_CFLAGS)
strict := -std=c11 -Wall -Wextra -fno-strict-aliasing -fvisibility=hidden -fPIC -pthread
override LDLIBS += $(LIBRARY_LIBS) -lm -ldl -pthread
override CFLAGS += $(strict)
ifneq ($(SAN),)
override CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
override LDFLAGS += -fsanitize=$(SAN)
endif

# The probe runs inside other people's programs and is a library of its own.
preload_sources := $(wildcard src/probe/preload/*.c)
collectives_sources := $(wildcard src/probe/collectives/*.c)
probe_sources := $(filter-out $(preload_sources) $(collectives_sources),$(wildcard src/probe/*.c src/probe/*/*.c))
# Only built where the library is that they need; the others report what is missing.
needs_sqlite := $(wildcard src/query/*.c) src/import/sqlite_strings.c \
    $(filter-out %/nsys.c,$(wildcard src/import/nsys/*.c))
needs_expat := $(filter-out %/xctrace.c %/xctrace_files.c,$(wildcard src/import/xctrace/*.c))
left_out := $(if $(findstring HAVE_SQLITE,$(LIBRARY_DEFINES)),,$(needs_sqlite)) \
    $(if $(findstring HAVE_EXPAT,$(LIBRARY_DEFINES)),,$(needs_expat))
sources := $(filter-out $(probe_sources) $(preload_sources) $(collectives_sources) $(left_out),$(wildcard src/*/*.c src/*/*/*.c))
# The model that `ridge bench rwkv` measures is an example on include/ridge.h alone.
example_sources := examples/rwkv/model.c examples/rwkv/forward.c
# Native kernels are built once for each set of vector instructions; the best is chosen at run time.
simd_sources := $(wildcard src/gen/native/simd/*.c)
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2> /dev/null)))
simd_isas := $(if $(filter x86_64,$(machine)),sse2 avx2 avx512,$(if $(filter aarch64 arm64,$(machine)),neon,generic))
simd_flags_avx2 := -mavx2 -mfma -mf16c -mbmi2
simd_flags_avx512 := $(simd_flags_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
simd_objects := $(foreach isa,$(simd_isas),$(simd_sources:%.c=$(BUILD)/%.$(isa).o))
# Files that are embedded in the program byte by byte.
embedded := src/bench/peer/peer.py $(wildcard src/gen/kernels/* src/bench/*/*.cl)
page_object := $(BUILD)/web/page.html.o
embedded_objects := $(embedded:%=$(BUILD)/%.o) $(page_object)
objects := $(sources:%.c=$(BUILD)/%.o) $(example_sources:%.c=$(BUILD)/%.o) $(simd_objects) $(embedded_objects)
library := $(filter-out $(BUILD)/src/cmd/main.o,$(objects))
unit_sources := $(wildcard tests/unit/*.c tests/unit/*/*.c)
unit_objects := $(unit_sources:%.c=$(BUILD)/%.o)
conformance_sources := $(wildcard tests/conformance/*.c)
conformance_objects := $(conformance_sources:%.c=$(BUILD)/%.o)
bench_sources := $(wildcard tests/bench/*.c)
bench_objects := $(bench_sources:%.c=$(BUILD)/%.o)
bench_programs := $(bench_sources:tests/bench/%.c=$(BUILD)/bench/%)
# Fuzz targets are parts of two programs: ridge-fuzz (libFuzzer) and the driver, which runs them
# without it. The first and fuzz/driver share sanitized objects; fuzz-driver has those of $(CC).
fuzz_sources := $(filter-out tests/fuzz/driver.c tests/fuzz/libfuzzer.c,$(wildcard tests/fuzz/*.c))
fuzz_objects := $(patsubst %.c,$(BUILD)/fuzz/%.o,$(fuzz_sources) src/abi/cfi.c src/record/brace_blocks.c src/record/source_files.c $(wildcard src/tensor/weights/*.c) \
    $(filter-out src/bench/% src/cmd/% src/abi/% src/machine/% src/device/% src/gen/% src/query/% src/record/% src/tensor/%,$(sources)))
fuzz_mains := $(BUILD)/fuzz/tests/fuzz/libfuzzer.o $(BUILD)/fuzz/tests/fuzz/driver.o
fuzz_programs := $(if $(FUZZ_CC),$(BUILD)/fuzz/ridge-fuzz $(BUILD)/fuzz/driver)
driver_objects := $(patsubst %.c,$(BUILD)/%.o,$(fuzz_sources) tests/fuzz/driver.c)

# The runtime as a library: what include/ridge.h declares is all that it exports.
runtime_objects := $(filter $(foreach module,base trace abi device gen tensor,$(BUILD)/src/$(module)/%),$(objects))
version := $(shell sed -n 's/.*RIDGE_VERSION "\(.*\)"/\1/p' include/ridge.h)
on_macos := $(if $(MACOS),$(MACOS),$(filter Darwin,$(shell uname -s)))
probe_library := $(if $(on_macos),libridge-probe.dylib,libridge-probe.so)
probe_objects := $(probe_sources:%.c=$(BUILD)/%.o)
# dyld needs the addresses of the functions that it replaces. Weak: the probe loads without Metal.
probe_libs := $(if $(on_macos),$(if $(MACOS),-F$(BUILD)/sdk/Frameworks) -weak_framework Metal)
# Interposes malloc(), so it is a library of its own, and only on Linux and without sanitizers.
memory_library := $(if $(on_macos)$(SAN),,libridge-memory.so)
preload_objects := $(preload_sources:%.c=$(BUILD)/%.o)
# Interposes MPI and gloo in the processes of a distributed job.
collectives_library := $(if $(on_macos),,libridge-collectives.so)
collectives_objects := $(collectives_sources:%.c=$(BUILD)/%.o)
probe_parts := $(filter $(foreach module,base spool abi,$(BUILD)/src/$(module)/%),$(objects))
shared_library := $(if $(on_macos),libridge.dylib,libridge.so)
soname := $(if $(on_macos),libridge.0.dylib,libridge.so.0)

all: $(BUILD)/ridge $(BUILD)/$(shared_library) $(BUILD)/libridge.a $(BUILD)/$(probe_library) \
    $(memory_library:%=$(BUILD)/%) $(collectives_library:%=$(BUILD)/%)

$(BUILD)/ridge: $(objects)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $(objects) $(LDLIBS)

# The same objects with the leak sanitizer, for tests/long/leaks.
$(BUILD)/ridge-leaks: $(objects)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -fsanitize=leak -o $@ $(objects) $(LDLIBS)

$(BUILD)/$(soname): $(runtime_objects)
	$(call quiet,LINK)$(CC) $(if $(on_macos),-dynamiclib -install_name @rpath/$(soname) -Wl$(comma)-dead_strip_dylibs,-shared -Wl$(comma)-soname$(comma)$(soname) -Wl$(comma)--as-needed) \
	    $(LDFLAGS) -o $@ $(runtime_objects) $(LDLIBS)
$(BUILD)/$(shared_library): $(BUILD)/$(soname)
	@ln -sf $(soname) $@

# Of the parts only what it needs, so that no library comes along. It stays where it is once loaded:
# functions of it are installed in the program.
$(BUILD)/probe-parts.a: $(probe_parts)
	$(call quiet,AR  )rm -f $@; $(AR) rcs $@ $(probe_parts)
$(BUILD)/$(probe_library): $(probe_objects) $(BUILD)/probe-parts.a
	$(call quiet,LINK)$(CC) $(if $(on_macos),-dynamiclib -install_name @rpath/$(probe_library),-shared -Wl$(comma)-soname$(comma)$(probe_library) -Wl$(comma)-z$(comma)nodelete $(if $(SAN),,-Wl$(comma)-z$(comma)defs)) \
	    $(LDFLAGS) -o $@ $(probe_objects) $(BUILD)/probe-parts.a $(probe_libs) -ldl -pthread

$(BUILD)/libridge-memory.so: $(preload_objects) $(BUILD)/$(probe_library)
	$(call quiet,LINK)$(CC) -shared -static-libgcc -Wl,-soname,libridge-memory.so -Wl,-z,nodelete -Wl,-z,defs \
	    -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) -o $@ $(preload_objects) $(BUILD)/$(probe_library) -ldl

$(BUILD)/libridge-collectives.so: $(collectives_objects) $(BUILD)/$(probe_library)
	$(call quiet,LINK)$(CC) -shared -Wl,-soname,libridge-collectives.so -Wl,-z,nodelete $(if $(SAN),,-Wl$(comma)-z$(comma)defs) \
	    -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) -o $@ $(collectives_objects) $(BUILD)/$(probe_library) -ldl

# One object whose inner names are its own, so that a program may have functions called as ours.
$(BUILD)/libridge.a: $(runtime_objects)
	$(call quiet,AR  )rm -f $@ $(BUILD)/libridge.o; \
	if [ -z "$(on_macos)" ] && $(LD) -r -o $(BUILD)/libridge.o $(runtime_objects) && \
	    $(OBJCOPY) --localize-hidden $(BUILD)/libridge.o; then $(AR) rcs $@ $(BUILD)/libridge.o; \
	else $(AR) rcs $@ $(runtime_objects); fi

$(BUILD)/unit: $(unit_objects) $(library) $(probe_objects)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $(unit_objects) $(library) $(probe_objects) $(LDLIBS)

$(BUILD)/conformance: $(conformance_objects) $(library)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $(conformance_objects) $(library) $(LDLIBS)

$(bench_programs): $(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(library)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

# Programs that make the recordings of tests/compare.
$(BUILD)/compare/%: $(BUILD)/tests/compare/%.o $(library)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

$(BUILD)/corpus/crop: $(BUILD)/tests/corpus/crop.o $(library)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

# Benchmarks against libraries that do what our own code does; scripts/compare-libraries builds those
# whose library is installed.
peer_libs_unwind := -ldw -lelf
peer_libs_matmul := -lopenblas
$(BUILD)/peers/%: tests/bench/peers/%.c $(library)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS) $(peer_libs_$*)
$(BUILD)/peers/json: tests/bench/peers/json.cc
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CXX) -O2 -std=c++17 -o $@ $< -lsimdjson

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Tests take longer to compile than to run.
$(unit_objects) $(driver_objects): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(CPPFLAGS) $(CFLAGS) -O0 -MMD -MP -c -o $@ $<

# The page that a report as HTML is put into: the folder web as one file.
$(BUILD)/web/page.html: scripts/bundle $(wildcard web/*.* web/*/*.*)
	@mkdir -p $(@D)
	$(call quiet,WEB )scripts/bundle web > $@.part && mv $@.part $@
$(page_object:%.o=%.c): $(BUILD)/web/page.html scripts/embed
	$(call quiet,EMB )scripts/embed $< > $@.part && mv $@.part $@

$(embedded:%=$(BUILD)/%.c): $(BUILD)/%.c: % scripts/embed
	@mkdir -p $(@D)
	$(call quiet,EMB )scripts/embed $< > $@.part && mv $@.part $@
$(embedded_objects): %.o: %.c $(BUILD)/flags
	$(call quiet,CC  )$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

simd_flags := $(if $(SAN),-O1,-O3) -ffp-contract=fast -fno-math-errno -fno-trapping-math -fwrapv
define simd_rule
$(BUILD)/src/gen/native/simd/%.$(1).o: src/gen/native/simd/%.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call quiet,CC  )$$(CC) $$(CPPFLAGS) -DSIMD_ISA=$(1) $$(CFLAGS) $$(simd_flags) $$(simd_flags_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach isa,$(simd_isas),$(eval $(call simd_rule,$(isa))))

# Fuzzing has its own compiler and sanitizers, so its objects live apart. A sanitizer prints no more
# than line tables hold.
fuzz_flags := -O1 -gline-tables-only $(strict) -fno-omit-frame-pointer -fno-sanitize-recover=all
$(fuzz_objects) $(fuzz_mains): $(BUILD)/fuzz/%.o: %.c $(BUILD)/fuzz/flags
	@mkdir -p $(@D)
	$(call quiet,FUZZ)$(FUZZ_CC) $(CPPFLAGS) $(fuzz_flags) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/ridge-fuzz: $(fuzz_objects) $(page_object) $(BUILD)/fuzz/tests/fuzz/libfuzzer.o
	$(call quiet,LINK)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)
$(BUILD)/fuzz/driver: $(fuzz_objects) $(page_object) $(BUILD)/fuzz/tests/fuzz/driver.o
	$(call quiet,LINK)$(FUZZ_CC) -fsanitize=address,undefined -o $@ $^ $(LDLIBS)

$(BUILD)/fuzz-driver: $(driver_objects) $(library)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $(driver_objects) $(library) $(LDLIBS)

# These change when the compiler or a flag does: everything is then built again.
$(BUILD)/flags: flags := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LDLIBS)
$(BUILD)/fuzz/flags: flags := $(FUZZ_CC) $(CPPFLAGS) $(fuzz_flags) $(LDLIBS)
$(BUILD)/flags $(BUILD)/fuzz/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' > $@

# A stand-in for Metal, without sanitizers: it switches stacks. Written for two processors.
metal_programs := $(if $(on_macos),,$(if $(filter x86_64 aarch64,$(machine)),$(addprefix $(BUILD)/metal/,libmetal-standin.so libridge-probe.so table misuse)))
metal_flags := -std=c11 -Wall -Wextra -O1 -g -D_GNU_SOURCE -fPIC -fvisibility=hidden
$(BUILD)/metal/libmetal-standin.so: $(wildcard tests/metal/*.c) tests/metal/standin.h
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(metal_flags) -shared -o $@ $(wildcard tests/metal/*.c) -ldl -pthread
# The probe with functions of Metal that LD_PRELOAD can put in front of a stand-in.
$(BUILD)/metal/interpose.o: src/probe/metal/interpose.c
	@mkdir -p $(@D)
	$(call quiet,CC)$(CC) $(CPPFLAGS) $(metal_flags) -DRIDGE_METAL_PRELOAD -c -o $@ $<
$(BUILD)/metal/libridge-probe.so: $(BUILD)/metal/interpose.o $(probe_objects) $(BUILD)/probe-parts.a
	$(call quiet,LINK)$(CC) -shared -Wl,-z,nodelete $(LDFLAGS) -o $@ $< $(filter-out %/probe/metal/interpose.o,$(probe_objects)) \
	    $(BUILD)/probe-parts.a $(probe_libs) -ldl -pthread
$(BUILD)/metal/%: $(BUILD)/tests/metal/programs/%.o $(BUILD)/probe-parts.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LDFLAGS) -o $@ $< $(BUILD)/probe-parts.a -ldl -pthread

test_programs := $(BUILD)/unit $(BUILD)/conformance $(BUILD)/bench/generate $(BUILD)/fuzz-driver $(metal_programs)
test: test-programs
	BUILD="$(BUILD)" CC="$(CC)" SAN="$(SAN)" tests/run
test-programs: $(test_programs) all

# What takes longer: the tests under sanitizers, the fuzzers, and tests/long; all of them with FULL=1. With
# BUDGET=SECONDS, builds included, jobs whose turn comes later are skipped, and the fuzzers are not built.
FULL ?=
deadline := $(if $(BUDGET),$(shell expr $$(date +%s) + $(BUDGET)))
test-long: test-programs $(if $(BUDGET),,$(fuzz_programs)) $(BUILD)/ridge-leaks
	@$(MAKE) --no-print-directory BUILD="$(BUILD)/sanitized" SAN=address,undefined CFLAGS="-O1 -g1" test-programs
	BUILD="$(BUILD)" CC="$(CC)" FULL="$(FULL)" BUDGET="$(BUDGET)" DEADLINE="$(deadline)" \
	    FUZZ_MISSING="$(if $(BUDGET),the fuzzers are not built with BUDGET,$(FUZZ_MISSING))" tests/run --long

# For macOS, without an SDK; see docs/macos.md. zstd is Homebrew's or MacPorts'.
macos_zstd := -Wl,-rpath,@executable_path/../lib -Wl,-rpath,/opt/homebrew/lib -Wl,-rpath,/usr/local/lib -Wl,-rpath,/opt/local/lib
macos:
	@zig=$$(scripts/find-zig) && for row in arm64:aarch64 x86_64:x86_64; do \
	    $(MAKE) --no-print-directory MACOS=$${row%:*} BUILD="$(BUILD)/macos/$${row%:*}" AR="$$zig ar" \
	        CC="$$zig cc -target $${row#*:}-macos.13.0" LDFLAGS="$(macos_zstd)" all || exit 1; done

fuzz: $(fuzz_programs)
	BUILD="$(BUILD)" FUZZ_MISSING="$(FUZZ_MISSING)" scripts/fuzz $${SECONDS_EACH:-600} $(FUZZ_TARGETS)

bench: $(BUILD)/ridge $(bench_programs)
	BUILD="$(BUILD)" RIDGE="$(BUILD)/ridge" tests/bench/run
	$(BUILD)/ridge bench all
	BUILD="$(BUILD)" tests/bench/roofs $$(if $(BUILD)/ridge devices | grep -q '^cuda:'; then echo cuda; else echo cpu; fi)

bench-overhead: all
	BUILD="$(BUILD)" CC="$(CC)" tests/bench/overhead

# What the diagnosis and the predictions make of traces whose faults are known. Making the traces anew
# needs a GPU and PyTorch.
corpus-score: $(BUILD)/ridge
	RIDGE="$(BUILD)/ridge" python3 -B tests/corpus/score.py --bar
	RIDGE="$(BUILD)/ridge" python3 -B tests/corpus/whatif_pairs.py --bar
corpus-generate: all $(BUILD)/corpus/crop
	BUILD="$(BUILD)" CC="$(CC)" tests/corpus/generate --out tests/corpus/traces

# How many small faults do the tests notice? By hand: it takes minutes. See tests/mutants/README.md.
MUTANTS ?= 300
SEED ?= 1
ONLY ?=
mutants: all $(BUILD)/unit $(BUILD)/fuzz-driver
	@CC="$(CC)" MUTANT_FLAGS="$(CPPFLAGS) $(filter-out -O% -g,$(CFLAGS))" MUTANT_LIBRARIES="$(LDLIBS)" \
	    MUTANT_RIDGE="$(objects)" MUTANT_UNIT="$(unit_objects) $(library) $(probe_objects)" \
	    MUTANT_FUZZ="$(driver_objects) $(library)" MUTANT_PROBE="$(probe_objects)" MUTANT_PROBE_PARTS="$(probe_parts)" \
	    tests/mutants/run.py --build "$(BUILD)" --count $(MUTANTS) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) \
	    $(MUTANT_OPTIONS)

# The reference of the runtime, made from the header.
docs: $(BUILD)/reference.md
$(BUILD)/reference.md: include/ridge.h scripts/reference
	@mkdir -p $(@D)
	$(call quiet,DOC )scripts/reference > $@.part && mv $@.part $@

demo: $(BUILD)/ridge
	@echo
	$(BUILD)/ridge demo -o $(BUILD)/demo

format:
	clang-format -i $$(scripts/list-sources)

lint:
	CPPFLAGS="$(CPPFLAGS)" scripts/lint

documents := $(wildcard README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE)
doc_folder := $(DESTDIR)$(PREFIX)/share/doc/ridge
man_page := $(DESTDIR)$(PREFIX)/share/man/man1/ridge.1
bash_completion := $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ridge
zsh_completion := $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ridge
fish_completion := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ridge.fish

libraries := $(DESTDIR)$(PREFIX)/lib
install: all
	$(BUILD)/ridge manual > $(BUILD)/ridge.1
	for shell in bash zsh fish; do \
	    $(BUILD)/ridge completion $$shell > $(BUILD)/completion.$$shell || exit 1; done
	mkdir -p $(DESTDIR)$(PREFIX)/bin $(dir $(man_page)) $(dir $(bash_completion)) \
	    $(dir $(zsh_completion)) $(dir $(fish_completion)) $(doc_folder)/docs
	install -m 755 $(BUILD)/ridge $(DESTDIR)$(PREFIX)/bin/ridge
	mkdir -p $(libraries)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 644 include/ridge.h include/ridge.hpp $(DESTDIR)$(PREFIX)/include
	install -m 755 $(BUILD)/$(soname) $(libraries)/$(soname)
	ln -sf $(soname) $(libraries)/$(shared_library)
	install -m 644 $(BUILD)/libridge.a $(libraries)/libridge.a
	mkdir -p $(libraries)/ridge
	install -m 755 $(BUILD)/$(probe_library) $(memory_library:%=$(BUILD)/%) $(collectives_library:%=$(BUILD)/%) $(libraries)/ridge
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' \
	    'Name: ridge' 'Version: $(version)' \
	    'Description: Tensors on a CPU, an NVIDIA GPU or any OpenCL device' \
	    'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lridge' \
	    'Libs.private: $(strip $(filter-out -lsqlite3 -lexpat,$(LDLIBS)))' \
	    > $(libraries)/pkgconfig/ridge.pc
	install -m 644 $(BUILD)/ridge.1 $(man_page)
	install -m 644 $(BUILD)/completion.bash $(bash_completion)
	install -m 644 $(BUILD)/completion.zsh $(zsh_completion)
	install -m 644 $(BUILD)/completion.fish $(fish_completion)
	install -m 644 $(documents) $(doc_folder)
	cp -R docs/. $(doc_folder)/docs

wheel: all
	RIDGE_PREBUILT=$(abspath $(BUILD)) python3 python/build_backend.py $(BUILD)/wheel

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ridge $(man_page) $(bash_completion) $(zsh_completion) \
	    $(fish_completion) $(addprefix $(DESTDIR)$(PREFIX)/include/,ridge.h ridge.hpp) $(libraries)/libridge.a \
	    $(libraries)/$(soname) $(libraries)/$(shared_library) $(libraries)/pkgconfig/ridge.pc
	rm -rf $(doc_folder) $(libraries)/ridge

clean:
	rm -rf $(BUILD)

help:
	@echo 'make              build $(BUILD)/ridge and $(BUILD)/libridge'
	@echo 'make demo         build it and let it show what it does'
	@echo 'make test         run every test; SAN=address,undefined with sanitizers'
	@echo 'make test-long    run what takes longer: sanitizers, fuzzers, many recorders; FULL=1 all of it'
	@echo 'make fuzz         run the fuzzers, SECONDS_EACH=600 seconds each; FUZZ_TARGETS="kineto nsys" only these'
	@echo 'make bench        measure speed and memory'
	@echo 'make bench-overhead  measure what recording costs a program'
	@echo 'make corpus-score    score the diagnosis on traces with known faults'
	@echo 'make corpus-generate  record those traces anew, on a GPU with PyTorch'
	@echo 'make mutants      count the small faults that the tests notice: MUTANTS=300 SEED=1 ONLY=src/whatif'
	@echo 'make lint         check formatting, includes and warnings of gcc and clang'
	@echo 'make format       format all sources'
	@echo 'make docs         write the reference of ridge.h to $(BUILD)/reference.md'
	@echo 'make install      into PREFIX=$(PREFIX) (below DESTDIR); make uninstall undoes it'
	@echo 'make wheel        a Python wheel in $(BUILD)/wheel, for pip install; pip install . builds it too'
	@echo 'make macos        build for macOS (arm64 and x86-64) in $(BUILD)/macos, with zig'
	@echo 'make clean        remove $(BUILD)'
	@echo 'Settings: BUILD=DIR CC=COMPILER CFLAGS=... SAN=SANITIZERS V=1 RIDGE_NO_INSTALL=1'

FORCE:
.PHONY: all docs test test-programs test-long fuzz mutants bench bench-overhead corpus-score corpus-generate demo format lint install macos wheel uninstall clean help FORCE
# keeps every intermediate file; otherwise make removes some and prints that after the last line of the tests
.SECONDARY:
# A link that fails may leave an empty file.
.DELETE_ON_ERROR:
-include $(objects:.o=.d) $(probe_objects:.o=.d) $(preload_objects:.o=.d) $(unit_objects:.o=.d) $(conformance_objects:.o=.d) $(bench_objects:.o=.d) $(BUILD)/tests/corpus/crop.d
-include $(fuzz_objects:.o=.d) $(fuzz_mains:.o=.d) $(driver_objects:.o=.d)
endif
