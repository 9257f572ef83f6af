# SPDX-License-Identifier: BSD-3-Clause
"""Harms ranks of runs at random moments, and judges how the runs end; run/faults starts it."""
