# SPDX-License-Identifier: BSD-3-Clause
"""A judge of what Lupine says of its solutions: run/campaign."""
