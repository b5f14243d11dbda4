"""Hold-out set 5: whole scripts with one known fault each, and healthy ones, in the folder set5.

The faults are those of public guides to slow programs (tuning guides of PyTorch, JAX and CuPy, the CUDA best
practices guide, questions of users). The scripts were written after set 4 was scored, by one who knows the
rules; docs/holdout.md has the protocol."""

import os

import scripts

STEPS = scripts.STEPS
PROGRAMS = scripts.programs_of(os.path.join(os.path.dirname(os.path.abspath(__file__)), "set5"))
