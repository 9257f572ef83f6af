// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Pieces of work in child processes, several at a time. A simulation can run once in a process, so
/// each prediction of a list needs a process of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace speedwell::paper {

/// Sends a text to the parent and ends the child. It may be called on any stack and does not
/// return.
using Reply = std::function<void(const std::string& text)>;

/// What became of a child.
struct ChildEnd {
  std::string text;     ///< its reply
  std::string failure;  ///< not empty: in words, why there is no reply
};

/// Calls work(i, reply) for each i in `order` in a child process, at most `processes` at a time,
/// and returns the ends of all, by i. Children begin in this order. Each is killed when the calling
/// thread ends, for whatever reason, so a signal that ends the parent ends the children.
/// @pre the process has no other thread, since a child has none of them; `order` is a permutation
///      of 0, 1, ...; processes >= 1
/// @throws Fault if a child cannot be started; the others have ended then
std::vector<ChildEnd> run_children(
    const std::vector<std::size_t>& order, int processes,
    const std::function<void(std::size_t i, const Reply& reply)>& work);

}  // namespace speedwell::paper
