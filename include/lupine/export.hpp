/// @file
/// LUPINE_API: what the shared library shows; everything else in it is hidden.
#pragma once

#define LUPINE_API __attribute__((visibility("default")))
