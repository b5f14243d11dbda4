# ridge: `make` builds build/ridge, `make demo` shows it at work, `make test` runs every test.
# `make help` lists the rest. BUILD=DIR builds elsewhere, CC=clang with another compiler,
# SAN=address,undefined with sanitizers.

BUILD ?= build
PREFIX ?= /usr/local
CC ?= cc
PKG_CONFIG ?= pkg-config
SAN ?=

# Libraries: zlib and zstd are needed; SQLite and expat add importers and `ridge query`.
have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)
LIBS := zlib libzstd
ifeq ($(call have,sqlite3),yes)
LIBS += sqlite3
DEFINES += -DRIDGE_HAVE_SQLITE
endif
ifeq ($(call have,expat),yes)
LIBS += expat
DEFINES += -DRIDGE_HAVE_EXPAT
endif

CPPFLAGS += -Isrc -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE $(DEFINES) \
            $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null)
CFLAGS ?= -O2 -g
override CFLAGS += -std=c11 -Wall -Wextra -fno-strict-aliasing -fvisibility=hidden -pthread
LDLIBS += $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null || echo -lz -lzstd) -lm -ldl -pthread
ifneq ($(SAN),)
override CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SAN)
endif

sources := $(wildcard src/*/*.c)
objects := $(sources:%.c=$(BUILD)/%.o)
library := $(filter-out $(BUILD)/src/cmd/main.o,$(objects))
unit_sources := $(wildcard tests/unit/*.c tests/unit/*/*.c)
unit_objects := $(unit_sources:%.c=$(BUILD)/%.o)

all: $(BUILD)/ridge

$(BUILD)/ridge: $(objects)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/unit: $(unit_objects) $(library)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

test: $(BUILD)/unit $(BUILD)/ridge
	$(BUILD)/unit

clean:
	rm -rf $(BUILD)

.PHONY: all test clean
-include $(objects:.o=.d) $(unit_objects:.o=.d)
