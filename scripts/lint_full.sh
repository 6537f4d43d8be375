#!/usr/bin/env bash
# clang-tidy over every file of the project that has changed since it last passed.
exec "$(dirname "${BASH_SOURCE[0]}")/lint.sh" --full
