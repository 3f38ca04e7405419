// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Which steps of an epoch a monitor observes, and in which state the current one is: the part of a gradient monitor that
// is the same on every engine.
#pragma once

#include <tally/core/errors.hpp>

#include <cmath>
#include <cstdint>
#include <string>

namespace tally {

/// Observe the first step of an epoch and every n-th after it. 0: only steps begun with `always`.
struct sampling {
    std::uint64_t every_n_steps = 1;
};

struct step_options {
    /// The loss was multiplied by it: gradients are divided by it before anything else. Powers of two divide exactly.
    float loss_scale = 1.0F;
    /// Observe this step whatever the sampling says, such as the last one of an epoch.
    bool always = false;
};

struct step_outcome {
    bool clipped = false; ///< the trainer has scaled the gradient down to a limit
};

class step_schedule {
public:
    explicit step_schedule(sampling rule) : rule_{rule} {}

    void begin(step_options options) {
        require_closed("begin_step");
        if (!(options.loss_scale > 0.0F) || !std::isfinite(options.loss_scale)) {
            throw configuration_error("a loss scale must be positive and finite, got " +
                                      std::to_string(options.loss_scale));
        }
        options_ = options;
        open_ = true;
        observing_ = options.always || (rule_.every_n_steps != 0 && steps_ % rule_.every_n_steps == 0);
    }
    void end() {
        open_ = observing_ = false;
        ++steps_;
    }
    /// An epoch that begins, or goes on after so many steps.
    void restart(std::uint64_t steps) {
        open_ = observing_ = false;
        steps_ = steps;
    }

    /// Whether the open step is observed.
    [[nodiscard]] bool observing() const { return observing_; }
    [[nodiscard]] float loss_scale() const { return options_.loss_scale; }
    /// What gradients are multiplied by.
    [[nodiscard]] float factor() const { return 1.0F / options_.loss_scale; }

    void require_open(char const* call) const {
        if (!open_) {
            throw configuration_error(std::string(call) + " was called outside of a step: call begin_step first");
        }
    }
    void require_closed(char const* call) const {
        if (open_) {
            throw configuration_error(std::string(call) +
                                      " was called inside a step: call end_step or skip_step first");
        }
    }

private:
    sampling rule_;
    step_options options_{};
    std::uint64_t steps_ = 0;
    bool open_ = false;
    bool observing_ = false;
};

} // namespace tally
