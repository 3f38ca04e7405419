// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0

// What device.hpp promises, in a program that was built without nvcc.

#include "device.hpp"

#include <stdexcept>

namespace digits {

namespace {

[[noreturn]] void refuse() { throw std::logic_error("this program was built without CUDA"); }

} // namespace

struct device_evaluator::implementation {};

std::string device_name() { return {}; }

device_evaluator::device_evaluator() { refuse(); }
device_evaluator::~device_evaluator() = default;
void device_evaluator::update(std::span<float const>, std::span<std::int32_t const>) { refuse(); }
tally::combined<evaluation> device_evaluator::combine(tally::thread_communicator&) const { refuse(); }

} // namespace digits
