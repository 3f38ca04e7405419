// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation on a CUDA device: the metrics of evaluation.hpp with a tracker that lives there. device.cu holds it; a build
// without nvcc takes no_device.cpp instead, in which there is never a device.
#pragma once

#include "evaluation.hpp"

#include <tally/comm/thread.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace digits {

/// The name of the device to evaluate on; empty if there is none.
std::string device_name();

/// As evaluator, for scores and labels in host memory, which are copied to the device. Needs a device.
class device_evaluator {
public:
    device_evaluator();
    ~device_evaluator();

    void update(std::span<float const> logits, std::span<std::int32_t const> labels);
    tally::combined<evaluation> combine(tally::thread_communicator& comm) const;

private:
    struct implementation;
    std::unique_ptr<implementation> implementation_;
};

} // namespace digits
