# SPDX-License-Identifier: BSD-3-Clause
"""A judge of what Speedwell says of its solutions: run/campaign."""
