// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which symbols the shared library exports. It is compiled with hidden visibility, so every symbol
/// without a mark stays inside it.
#pragma once

/// Marks a function or class that the shared library exports.
#define SPEEDWELL_API __attribute__((visibility("default")))
/// Marks a member class of an exported class that the shared library does not export.
#define SPEEDWELL_HIDDEN __attribute__((visibility("hidden")))
