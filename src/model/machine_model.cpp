// SPDX-License-Identifier: BSD-3-Clause
#include "model/machine_model.hpp"
