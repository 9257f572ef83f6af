// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LUPINE_API: what the shared library shows; everything else in it is hidden, and inside a class
/// that it shows what is LUPINE_HIDDEN.
#pragma once

#define LUPINE_API __attribute__((visibility("default")))
#define LUPINE_HIDDEN __attribute__((visibility("hidden")))
