// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradient monitors on the host and what they are made of: layers, distributions, logarithmic bins, reports.
#pragma once

#include <tally/layout/logarithmic_bins.hpp>
#include <tally/monitor/distribution.hpp>
#include <tally/monitor/exponential_buckets.hpp>
#include <tally/monitor/gradient_monitor.hpp>
#include <tally/monitor/gradient_report.hpp>
#include <tally/monitor/gradient_statistics.hpp>
#include <tally/monitor/gradient_view.hpp>
#include <tally/monitor/layer_registry.hpp>
#include <tally/monitor/layer_sums.hpp>
#include <tally/monitor/log_histogram.hpp>
#include <tally/monitor/report_gradients.hpp>
#include <tally/monitor/step_schedule.hpp>
